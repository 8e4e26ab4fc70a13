// Package npz writes numpy's .npz files: a zip archive of .npy files, one for
// each array, as numpy.savez_compressed makes them.
//
//	z := npz.NewWriter(file)
//	err := z.Array("weight", npz.Float32, []int{n}, func(w io.Writer) error {
//		_, err := w.Write(npz.Append(nil, weights...))
//		return err
//	})
//	err = z.Close()
//
// In Python: numpy.load("rows.npz")["weight"].
//
// Nothing is held in memory but a buffer, and the same arrays give the same
// bytes: no times are written. Nothing is written with pickle, so that
// numpy.load needs no allow_pickle.
package npz
