"""What people import: a lens, its grids and states, two of them compared, and how to make one."""
