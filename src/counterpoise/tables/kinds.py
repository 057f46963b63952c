"""What a column can hold: one list for frames, arrays and files."""

NUMBERS = "numbers"
CATEGORIES = "categories"
DATES = "dates"
ZONED_DATES = "dates with a time zone"
DURATIONS = "durations"
NOTHING = "no value at all"
