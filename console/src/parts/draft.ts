import { useEffect, useState } from 'preact/hooks'

/** What somebody is typing: it is there again after a reload, and after a login at another site. */
export interface Draft {
  readonly value: string
  /** Whether it was there from before. */
  readonly kept: boolean
  set(value: string): void
  /** It was sent: nothing is kept. */
  done(): void
}

const prefix = 'carrel.draft.'
/** Of a text; longer ones are kept for as long as the page is open. */
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
    // It is kept for as long as the page is open.
  }
}

/** @param name of the field, of this tab; no password is a draft */
export function useDraft(name: string, initial: string): Draft {
  const [state, setState] = useState(() => {
    const found = read(name)
    return { value: found ?? initial, kept: found !== null }
  })
  // What is shown as the start may be something else by now, such as after Back.
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
