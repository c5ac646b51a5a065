import type { JSX } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import { t } from '../../i18n/i18n.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { useLoad } from '../../parts/load.ts'
import { cut } from '../../parts/Value.tsx'
import { go } from '../../router.ts'
import { who } from '../../session.ts'
import { placesFound, placesNamed, type Shelf, searchFor } from './places.ts'
import './keyboard.css'

/** Time in ms without typing after which the service is asked. */
const pause = 200

/** Finds a page, a collection of records, an item, a person or a group by its name, and opens it. */
export default function GoTo({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const id = useId()
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const named = useLoad(() => placesNamed(text), [text, who.value])
  const found = useFound(text.trim())
  const everywhere = text.trim() === '' ? [] : [searchFor(text.trim())]
  const shelves = [...(named.value ?? []), ...found, ...everywhere].filter(({ places }) => places.length > 0)
  const all = shelves.flatMap(({ places }) => places)
  const at = Math.min(chosen, Math.max(0, all.length - 1))
  const open = (path: string) => {
    onClose()
    go(path)
  }
  return (
    <Dialog
      title={t('go.title')}
      onClose={onClose}
      onSubmit={() => {
        const place = all[at]
        if (place) open(place.path)
      }}
    >
      <input
        role="combobox"
        aria-label={t('go.label')}
        placeholder={t('go.label')}
        aria-expanded={true}
        aria-controls={id}
        aria-autocomplete="list"
        {...(all.length > 0 ? { 'aria-activedescendant': `${id}-${at}` } : {})}
        autoComplete="off"
        spellcheck={false}
        value={text}
        onInput={event => {
          setText(event.currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={event => {
          const step = { ArrowDown: 1, ArrowUp: all.length - 1 }[event.key]
          if (step === undefined || all.length === 0) return
          event.preventDefault()
          setChosen((at + step) % all.length)
        }}
      />
      <div class="go-to-list" id={id} role="listbox" aria-label={t('go.title')}>
        {shelves.map(({ title, places }) => (
          // biome-ignore lint/a11y/useSemanticElements: a fieldset can't be in a listbox
          <div key={title} role="group" aria-label={title}>
            <p class="menu-title" aria-hidden="true">
              {title}
            </p>
            {places.map(place => (
              <Option
                key={place.path}
                id={`${id}-${all.indexOf(place)}`}
                place={place}
                isChosen={all.indexOf(place) === at}
                onOpen={() => open(place.path)}
              />
            ))}
          </div>
        ))}
      </div>
      {all.length === 0 && (
        <p class="soft" role="status">
          {named.loading ? t('loading') : t('empty')}
        </p>
      )}
    </Dialog>
  )
}

interface Parts {
  readonly id: string
  readonly place: Shelf['places'][number]
  readonly isChosen: boolean
  readonly onOpen: () => void
}

function Option({ id, place, isChosen, onOpen }: Parts): JSX.Element {
  return (
    // biome-ignore lint/a11y/useFocusableInteractive lint/a11y/useKeyWithClickEvents: the focus and the keys stay in the text
    <div
      id={id}
      role="option"
      aria-selected={isChosen}
      onClick={onOpen}
      ref={element => {
        if (isChosen) element?.scrollIntoView({ block: 'nearest' })
      }}
    >
      <Icon of={place.icon} />
      <span>
        <bdi>{cut(place.name, 120)}</bdi>
      </span>
      {place.about && (
        <span class="soft small">
          <bdi>{cut(place.about, 120)}</bdi>
        </span>
      )}
    </div>
  )
}

/** Asks the service when typing stops. The places found before stay until then. */
function useFound(text: string): readonly Shelf[] {
  const [asked, setAsked] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), pause)
    return () => clearTimeout(timer)
  }, [text])
  const { value } = useLoad(
    async signal => (asked.length < 2 ? [] : placesFound(asked, signal)),
    [asked, who.value],
  )
  return text.length < 2 ? [] : (value ?? [])
}
