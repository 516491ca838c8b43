"""What a person types: `caudal …`. Nothing is imported here, so that `caudal broker` starts at once."""
