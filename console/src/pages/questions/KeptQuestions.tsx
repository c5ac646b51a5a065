import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { t } from '../../i18n/i18n.ts'
import { Bookmark, Clock, X } from '../../icons.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { Field } from '../../parts/Field.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { Menu } from '../../parts/Menu.tsx'
import { toast } from '../../parts/toast.tsx'
import { cut } from '../../parts/Value.tsx'
import { forgetNamed, forgetRecent, keepNamed, kept, longestName } from './kept.ts'

const inLine = (text: string) => cut(text.replaceAll(/\s+/g, ' '), 90)

/** Keeps a question under a name, and shows those of this browser. */
export function KeptQuestions({
  text,
  onChoose,
}: {
  readonly text: string
  readonly onChoose: (text: string) => void
}): JSX.Element {
  const [isNaming, setNaming] = useState(false)
  const { recent, named } = kept()
  return (
    <>
      <button
        type="button"
        class="button"
        aria-disabled={text.trim() === ''}
        onClick={() => text.trim() !== '' && setNaming(true)}
      >
        <Icon of={Bookmark} />
        {t('questions.keep')}
      </button>
      <Menu
        side="left"
        button={
          <>
            <Icon of={Clock} />
            {t('questions.kept')}
          </>
        }
      >
        {close => (
          <div class="kept-questions">
            {named.length > 0 && <p class="menu-title">{t('questions.named')}</p>}
            {named.map(one => (
              <div key={one.name} class="kept-question">
                <button
                  type="button"
                  class="menu-item"
                  onClick={() => {
                    close()
                    onChoose(one.text)
                  }}
                >
                  <bdi>{one.name}</bdi>
                </button>
                <button
                  type="button"
                  class="button quiet icon"
                  aria-label={t('questions.forget', { name: one.name })}
                  title={t('questions.forget', { name: one.name })}
                  onClick={() => forgetNamed(one.name)}
                >
                  <Icon of={X} size={14} />
                </button>
              </div>
            ))}
            <p class="menu-title">{t('questions.recent')}</p>
            {recent.length === 0 && <p class="soft small empty">{t('questions.recent.none')}</p>}
            {recent.map(one => (
              <button
                key={one}
                type="button"
                class="menu-item"
                onClick={() => {
                  close()
                  onChoose(one)
                }}
              >
                <code>{inLine(one)}</code>
              </button>
            ))}
            {recent.length > 0 && (
              <button
                type="button"
                class="menu-item"
                onClick={() => {
                  close()
                  forgetRecent()
                }}
              >
                {t('questions.recent.forget')}
              </button>
            )}
          </div>
        )}
      </Menu>
      {isNaming && <Naming text={text} onClose={() => setNaming(false)} />}
    </>
  )
}

function Naming({ text, onClose }: { readonly text: string; readonly onClose: () => void }): JSX.Element {
  const [name, setName] = useState('')
  return (
    <Dialog
      title={t('questions.keep.title')}
      onClose={onClose}
      onSubmit={() => {
        keepNamed(name.trim(), text.trim())
        toast(t('questions.keep.done', { name: name.trim() }))
        onClose()
      }}
      footer={
        <>
          <button type="button" class="button" onClick={onClose}>
            {t('cancel')}
          </button>
          <button type="submit" class="button primary">
            {t('questions.keep')}
          </button>
        </>
      }
    >
      <Field label={t('questions.name')} hint={t('questions.keep.help')}>
        <input
          required
          maxLength={longestName}
          pattern=".*\S.*"
          value={name}
          onInput={event => setName(event.currentTarget.value)}
        />
      </Field>
    </Dialog>
  )
}
