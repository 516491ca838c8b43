"""An election night in Spain: polling stations report, a Streams application on Spark counts, a model projects.

Everything is simulated: parties, results, census and turnout are invented, and nobody's real vote is in it.
"""
