import { loadShare } from '../support/share.ts'

await loadShare(import.meta.url)
