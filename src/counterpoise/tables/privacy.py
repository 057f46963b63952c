"""The privacy floor: of groups so small nothing is told, so nobody is recognised."""

# Of fewer rows than these nothing is told: no mean, no range, no category.
FEWEST_ROWS_TOLD = 5
