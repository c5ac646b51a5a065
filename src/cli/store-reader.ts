import { features } from '../features.ts'
import { serveReader } from '../storage/sqlite/reader.ts'

serveReader(features)
