import { features } from '../features.ts'
import { serveWriter } from '../storage/sqlite/writer.ts'

// The thread that writes an embedded store. Functions can't be sent to a thread, so it imports the features itself.
serveWriter(features)
