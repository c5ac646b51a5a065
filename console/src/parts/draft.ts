import { useEffect, useState } from 'preact/hooks'

/** A text being typed. It survives a reload, and a login at another site. */
export interface Draft {
  readonly value: string
  /** True if the text was typed and not only given as the initial one. */
  readonly kept: boolean
  set(value: string): void
  /** Forgets the text once it has been sent. */
  done(): void
}

const prefix = 'carrel.draft.'
/** Maximum number of characters stored. A longer text lasts only as long as the page is open. */
const longest = 200_000

const read = (name: string) => {
  try {
    return sessionStorage.getItem(prefix + name)
  } catch {
    return null
  }
}

function write(name: string, value: string | null) {
  try {
    if (value === null || value.length > longest) sessionStorage.removeItem(prefix + name)
    else sessionStorage.setItem(prefix + name, value)
  } catch {
    // Without storage, the text lasts as long as the page is open.
  }
}

/** @param name of the field, unique in the tab; never use it for a password */
export function useDraft(name: string, initial: string): Draft {
  const [state, setState] = useState(() => {
    const found = read(name)
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
