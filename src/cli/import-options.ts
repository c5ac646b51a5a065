import { InvalidArgumentError } from 'commander'
import * as options from '../import/options.ts'

/** The options of `carrel import` that name fields. Commander passes in what was parsed so far. */

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
