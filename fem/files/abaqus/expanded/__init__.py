"""Elements that CalculiX solves as solids: plane and axisymmetric ones, shells and beams."""
