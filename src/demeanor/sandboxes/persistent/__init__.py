"""A sandbox that lasts: walls behind which programs come and go for as long as a whole task does.

On our side: lodgings.py makes lodges by a plan (plan.py), lodge.py is one of them, to which errands (errand.py) go over
a line (line.py). On the other side, in small programs of their own: keeper.py keeps it and furnishes its root (root.py,
idmap.py); porter.py runs one errand in there, with parcels of files (parcel.py).
"""
