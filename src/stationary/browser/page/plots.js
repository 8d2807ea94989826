// Plots on canvases: curves over time, portraits, sections.
function fit(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return [pen, width, height];
}
function ticks(low, high, count) {
  const raw = (high - low) / count || 1, power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map(k => k * power).find(s => s >= raw);
  const made = [];
  for (let x = Math.ceil(low / step) * step; x <= high + 1e-9 * step; x += step)
    made.push(Math.abs(x) < 1e-9 * step ? 0 : x);
  return made;
}
function short(x, digits = 4) {
  const a = Math.abs(x);
  if (a === 0) return "0";
  const long = a >= Math.pow(10, Math.max(4, digits)) || a < 1e-3;
  const rounded = +x.toPrecision(Math.max(3, digits));
  const text = long ? rounded.toExponential() : String(+x.toPrecision(digits));
  return text.replace(/-/g, "−").replace("e+", "e");
}
// As many digits as tell one tick from the next.
function labelled(marks) {
  const step = marks.length > 1 ? marks[1] - marks[0] : 0;
  const largest = Math.max(...marks.map(Math.abs), step);
  const digits = step ? Math.floor(Math.log10(largest / step) + 1e-9) + 2 : 4;
  return marks.map(x => [x, short(x, Math.min(Math.max(digits, 4), 12))]);
}
// curves: [{x, y, color, dash, dots}]; everything is drawn to the same axes.
function plot(canvas, curves, labels, colors) {
  const [pen, width, height] = fit(canvas);
  if (width < 40 || height < 40) return;
  pen.font = "12px system-ui, sans-serif";
  let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const c of curves)
    for (let k = 0; k < c.x.length; k++) {
      if (!isFinite(c.x[k]) || !isFinite(c.y[k])) continue;
      x0 = Math.min(x0, c.x[k]); x1 = Math.max(x1, c.x[k]);
      y0 = Math.min(y0, c.y[k]); y1 = Math.max(y1, c.y[k]);
    }
  if (!(x1 >= x0)) [x0, x1, y0, y1] = [0, 1, 0, 1];
  if (labels.span) [x0, x1] = labels.span;
  const flat = 1e-12 * Math.max(Math.abs(y0), Math.abs(y1)) || 1;
  if (!(y1 - y0 > flat)) { const m = Math.abs(y0) * 0.1 || 1; y0 -= m; y1 += m; }
  if (!(x1 > x0)) { x0 -= 0.5; x1 += 0.5; }
  const pad = 0.06 * (y1 - y0);
  y0 -= pad; y1 += pad;
  const heights = labelled(ticks(y0, y1, Math.max(2, height / 45)));
  const widest = Math.max(0, ...heights.map(([, text]) => pen.measureText(text).width));
  const box = { left: Math.max(44, widest + 9), right: 10, top: 10, bottom: 30 };
  const X = x => box.left + (x - x0) / (x1 - x0) * (width - box.left - box.right);
  const Y = y => height - box.bottom - (y - y0) / (y1 - y0) * (height - box.top - box.bottom);
  pen.lineWidth = 1;
  pen.strokeStyle = colors.grid;
  pen.fillStyle = colors.soft;
  pen.textAlign = "center";
  for (const [x, text] of labelled(ticks(x0, x1, Math.max(2, width / 90)))) {
    pen.beginPath(); pen.moveTo(X(x), box.top); pen.lineTo(X(x), height - box.bottom); pen.stroke();
    pen.fillText(text, Math.min(X(x), width - pen.measureText(text).width / 2), height - box.bottom + 14);
  }
  pen.textAlign = "right";
  for (const [y, text] of heights) {
    pen.beginPath(); pen.moveTo(box.left, Y(y)); pen.lineTo(width - box.right, Y(y)); pen.stroke();
    pen.fillText(text, box.left - 5, Y(y) + 4);
  }
  pen.textAlign = "center";
  pen.fillText(labels.x, (box.left + width - box.right) / 2, height - 3);
  pen.save();
  pen.beginPath();
  pen.rect(box.left, box.top, width - box.left - box.right, height - box.top - box.bottom);
  pen.clip();
  for (const c of curves) {
    pen.strokeStyle = pen.fillStyle = c.color;
    pen.lineWidth = 1.6;
    pen.setLineDash(c.dash || []);
    if (c.dots) {
      for (let k = 0; k < c.x.length; k++) {
        pen.beginPath(); pen.arc(X(c.x[k]), Y(c.y[k]), c.dots, 0, 7); pen.fill();
      }
      continue;
    }
    // No more points than pixels can show.
    const stride = Math.max(1, Math.floor(c.x.length / (4 * width)));
    pen.beginPath();
    for (let k = 0; k < c.x.length; k += stride)
      k ? pen.lineTo(X(c.x[k]), Y(c.y[k])) : pen.moveTo(X(c.x[k]), Y(c.y[k]));
    pen.stroke();
  }
  pen.restore();
  pen.setLineDash([]);
}
