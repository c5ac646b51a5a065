import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { carrel } from './carrel.ts'

const root = document.getElementById('root')
if (!root) throw new Error('the page has no root')
// A session of another tab, of before a reload, or of a single sign-on. Without the service, the page says so later.
await carrel.resume().catch(() => {})
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
