"""Many runs side by side, from their files alone."""
