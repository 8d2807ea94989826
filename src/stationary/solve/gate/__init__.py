"""The gate: what a result claims, measured from the statement alone, decides its status.

One file per claim. A solver proposes; `claims` knows what each kind of result claims, lets pass
what it measures to be true, and changes the status of what is not. What a `run` claims is measured
where it is integrated.
"""
