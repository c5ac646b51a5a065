import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { t } from '../../i18n/i18n.ts'
import { Bookmark, Clock, X } from '../../icons.ts'
import { Button, IconButton, Input } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { FormDialog } from '../../parts/forms.tsx'
import { Menu } from '../../parts/Menu.tsx'
import { toast } from '../../parts/toast.tsx'
import { cut } from '../../parts/Value.tsx'
import { forgetNamed, forgetRecent, keepNamed, kept, longestName } from './kept.ts'

const inLine = (text: string) => cut(text.replaceAll(/\s+/g, ' '), 90)

interface Parts {
  readonly text: string
  readonly onChoose: (text: string) => void
}

/** Keeps a question under a name, and shows those of this browser. */
export function KeptQuestions({ text, onChoose }: Parts): JSX.Element {
  const [isNaming, setNaming] = useState(false)
  const { recent, named } = kept()
  return (
    <>
      <Button
        icon={Bookmark}
        label={t('questions.keep')}
        aria-disabled={text.trim() === ''}
        onClick={() => text.trim() !== '' && setNaming(true)}
      />
      <Menu side="left" icon={Clock} button={t('questions.kept')}>
        {close => (
          <div class="kept-questions">
            {named.length > 0 && <p class="menu-title">{t('questions.named')}</p>}
            {named.map(one => (
              <div key={one.name} class="kept-question">
                <Button
                  look="menu"
                  onClick={() => {
                    close()
                    onChoose(one.text)
                  }}
                >
                  <bdi>{one.name}</bdi>
                </Button>
                <IconButton
                  icon={X}
                  size={14}
                  label={t('questions.forget', { name: one.name })}
                  onClick={() => forgetNamed(one.name)}
                />
              </div>
            ))}
            <p class="menu-title">{t('questions.recent')}</p>
            {recent.length === 0 && <p class="soft small empty">{t('questions.recent.none')}</p>}
            {recent.map(one => (
              <Button
                look="menu"
                key={one}
                onClick={() => {
                  close()
                  onChoose(one)
                }}
              >
                <code>{inLine(one)}</code>
              </Button>
            ))}
            {recent.length > 0 && (
              <Button
                look="menu"
                label={t('questions.recent.forget')}
                onClick={() => {
                  close()
                  forgetRecent()
                }}
              />
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
    <FormDialog
      title={t('questions.keep.title')}
      onClose={onClose}
      onSubmit={() => {
        keepNamed(name.trim(), text.trim())
        toast(t('questions.keep.done', { name: name.trim() }))
        onClose()
      }}
      act={t('questions.keep')}
    >
      <Field label={t('questions.name')} hint={t('questions.keep.help')}>
        <Input required maxLength={longestName} pattern=".*\S.*" value={name} onText={setName} />
      </Field>
    </FormDialog>
  )
}
