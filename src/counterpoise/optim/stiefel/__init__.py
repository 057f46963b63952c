"""Problems over orthonormal matrices."""
