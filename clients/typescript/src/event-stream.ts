/** One event of a stream, as the WHATWG's format has it. */
export interface ServerSentEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/** The longest event that is read, in characters. */
const MAX_LENGTH = 4 * 1024 * 1024;

export interface Reading {
  /** Called for everything that arrives, including comments. */
  readonly onBytes: () => void;
  /** Called with the field's milliseconds. */
  readonly onRetry: (ms: number) => void;
  /** Called with the id of a block that has no event. */
  readonly onId: (id: string) => void;
}

/** The events of a body. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  { onBytes, onRetry, onId }: Reading,
): AsyncGenerator<ServerSentEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let id: string | undefined;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      text += decoder.decode(value, { stream: true });
      if (text.length > MAX_LENGTH) throw new RangeError('An event is too long.');
      const parts = text.split(/\r\n\r\n|\n\n|\r\r/);
      text = parts.pop() ?? '';
      for (const part of parts) {
        const fields = fieldsOf(part);
        if (fields.retry !== undefined) onRetry(fields.retry);
        id = fields.id ?? id;
        if (fields.data === undefined && fields.id !== undefined) onId(fields.id);
        if (fields.data !== undefined) yield { id, event: fields.event ?? 'message', data: fields.data };
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function fieldsOf(block: string): { id?: string; event?: string; data?: string; retry?: number } {
  const fields: { id?: string; event?: string; data?: string; retry?: number } = {};
  for (const line of block.split(/\r\n|\n|\r/)) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name === 'id' && !value.includes('\0')) fields.id = value;
    else if (name === 'event') fields.event = value;
    else if (name === 'data') fields.data = fields.data === undefined ? value : `${fields.data}\n${value}`;
    else if (name === 'retry' && /^[0-9]{1,9}$/.test(value)) fields.retry = Number(value);
  }
  return fields;
}
