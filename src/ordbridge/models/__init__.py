"""The four models, the engines behind them, and the Fit they return."""
