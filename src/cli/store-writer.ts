import { features } from '../features.ts'
import { serveWriter } from '../storage/sqlite/writer.ts'

serveWriter(features)
