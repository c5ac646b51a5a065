import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './own-files.ts'

export const version: string = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version
