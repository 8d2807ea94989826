"""One question asked many times: what varies, what is kept, who computes, where it is stored."""
