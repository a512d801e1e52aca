"""Constraints of a deck: `*EQUATION`, `*MPC`, `*RIGID BODY`, `*TIE`, `*COUPLING`, `*BOUNDARY`, in the axes of
`*TRANSFORM` and `*ORIENTATION`.

What a keyword says is stated as `fem.Equation`, `fem.RigidLink` and `fem.MeanLink`. A keyword that is not understood in
full is not obeyed at all, with the reason.
"""
