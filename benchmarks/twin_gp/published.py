"""Figures of Chapaneri and Jayaswal (2019), whose features are not to be had.

As printed their weights cancel: by the formulas IW-SMTGP is SMTGP.
"""

# Joint errors on HumanEva in mm, (SMTGP, IW-SMTGP) of three subjects.
POSES = {
    "selection": ((52.819, 51.679), (51.436, 50.273), (57.232, 55.302)),
    "selection3": ((83.241, 81.788), (84.718, 82.828), (87.873, 85.912)),
    "subject": ((123.865, 119.772), (107.209, 104.353), (148.259, 134.719)),
    "motion3": ((144.896, 142.398), (154.717, 151.606), (148.308, 147.287)),
    "camera": ((149.709, 148.539), (148.435, 146.302), (145.499, 143.509)),
}
# R2 and RMSE of valence and of arousal between two collections of songs.
MOODS = {
    ("AMG -> DEAM", "SMTGP"): ((0.512, 0.236), (0.721, 0.169)),
    ("AMG -> DEAM", "IW-SMTGP"): ((0.526, 0.221), (0.732, 0.153)),
    ("DEAM -> AMG", "SMTGP"): ((0.516, 0.241), (0.724, 0.174)),
    ("DEAM -> AMG", "IW-SMTGP"): ((0.531, 0.228), (0.735, 0.162)),
}
