import { useEffect, useState } from 'preact/hooks'
import { recallInTab, rememberInTab } from '../owner.ts'

/** A text being typed. It survives a reload, and a login at another site. */
interface Draft {
  readonly value: string
  /** True if the text was typed and not only given as the initial one. */
  readonly kept: boolean
  set(value: string): void
  /** Forgets the text once it has been sent. */
  done(): void
}

const prefix = 'draft.'
/** Maximum number of characters stored. A longer text lasts only as long as the page is open. */
const longest = 200_000

const write = (name: string, value: string | null) =>
  rememberInTab(prefix + name, value === null || value.length > longest ? null : value)

/** @param name of the field, unique in the tab; never use it for a password */
export function useDraft(name: string, initial: string): Draft {
  const [state, setState] = useState(() => {
    const found = recallInTab(prefix + name)
    return { value: found ?? initial, kept: found !== null }
  })
  // The initial text may have changed meanwhile, such as after Back.
  useEffect(() => {
    setState(now => (now.kept || now.value === initial ? now : { value: initial, kept: false }))
  }, [name, initial])
  return {
    ...state,
    set: value => {
      setState({ value, kept: true })
      write(name, value)
    },
    done: () => {
      setState(({ value }) => ({ value, kept: false }))
      write(name, null)
    },
  }
}
