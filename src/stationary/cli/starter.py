"""The model that ``stationary new`` writes."""

TEXT = """\
# A model file: energies in, mechanics out. Try
#   stationary simulate {file} -o motion.png -o motion.gif
#   stationary report {file} -o report.html
name = "{name}"
coordinates = ["theta"]      # generalized coordinates; theta' is the velocity

[parameters]                 # numbers, or text with a unit; everything is turned into SI units
m = "200 g"
l = "50 cm"
g = "9.81 m/s^2"
b = 0.01                     # change one for a run: --set b=0.1

[[parts]]                    # parts bring energies and are drawn
kind = "particle"
m = "m"
at = ["l*sin(theta)", "-l*cos(theta)"]
gravity = "g"

[[drawing]]                  # what is only drawn
kind = "rod"
points = [["0", "0"], ["l*sin(theta)", "-l*cos(theta)"]]

[energies]                   # kinetic, potential, work, dissipation: they add to those of the parts
dissipation = "b*theta'^2/2"

[start]
theta = "120 deg"
# "theta'" = 1               # velocities in quotes; what is left out is zero

[simulate]                   # the questions: each is a command
span = [0, 10]

[equilibria]
within = {{ theta = [-1, 4] }}

# More that a file can say:
#   inputs = ["F"]                       a control; [inputs] F = "sin(t)" gives its course
#   [definitions] X = "l*sin(theta)"     a name for an expression; X' is its rate
#   [constraints] rod = "norm(x, y) - l" what vanishes
#   [[loads]] force = "F", on = "x"      virtual work
"""


def starter(file: str, name: str) -> str:
    """Return the text of a commented model."""
    return TEXT.format(file=file, name=name.replace("\\\\", "").replace('"', "'"))
