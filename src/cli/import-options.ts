import { InvalidArgumentError } from 'commander'
import * as options from '../import/options.ts'

/** The options of `carrel import` whose values are checked. Commander passes in what was parsed so far. */

const forCommander =
  <T>(add: (text: string, known?: T) => T) =>
  (text: string, known?: T): T => {
    try {
      return add(text, known)
    } catch (error) {
      if (error instanceof options.OptionFault) throw new InvalidArgumentError(error.message)
      throw error
    }
  }

export const addKey = forCommander(options.addKey)
export const addType = forCommander(options.addType)
export const addCollation = forCommander(options.addCollation)
export const readDelimiter = forCommander(options.readDelimiter)
export const readEncoding = forCommander(options.readEncoding)
