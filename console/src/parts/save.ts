/** Gives a file to the browser to keep. */
export function save(content: Blob, name: string): void {
  const address = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}

/** Reads a stream to its end, and says how far it is. */
export async function collect(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  type: string,
  onProgress: (bytes: number) => void,
): Promise<Blob> {
  const pieces: Blob[] = []
  let held: Uint8Array<ArrayBuffer>[] = []
  let [bytes, inHand] = [0, 0]
  // Blobs may lie on the disk; arrays don't.
  const put = () => {
    pieces.push(new Blob(held))
    held = []
    inHand = 0
  }
  for await (const piece of iterate(stream)) {
    held.push(piece)
    bytes += piece.length
    inHand += piece.length
    if (inHand > 8_000_000) put()
    onProgress(bytes)
  }
  put()
  return new Blob(pieces, { type })
}

/** Not every browser's streams can be iterated. */
async function* iterate<T>(stream: ReadableStream<T>): AsyncGenerator<T> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
