import { features } from '../features.ts'
import { serveReader } from '../storage/sqlite/reader.ts'

// The thread that reads an embedded store. Functions can't be sent to a thread, so it imports the features itself.
serveReader(features)
