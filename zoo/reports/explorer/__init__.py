"""The page of `zoo explore`: what a model read, to be looked into by hand."""
