import { useState } from 'preact/hooks';
import { Card } from '../../parts/card.js';
import { Copyable } from '../../parts/copyable.js';
import { SectionLink } from '../../parts/section-link.js';
import { curlText } from './curl.js';
import { pythonText } from './python.js';
import type { ShownRequest } from './shown-request.js';
import { typescriptText } from './typescript.js';

const LANGUAGES = [
  { name: 'curl', title: 'curl', text: curlText, install: undefined },
  { name: 'typescript', title: 'TypeScript', text: typescriptText, install: 'npm install @darkroom/client' },
  { name: 'python', title: 'Python', text: pythonText, install: 'pip install darkroom-client' },
] as const;

/** The request of the form, as programs send it. */
export function CodeCard({ shown }: { readonly shown: ShownRequest }) {
  const [name, setName] = useState<(typeof LANGUAGES)[number]['name']>('curl');
  const { title, text, install } = LANGUAGES.find((one) => one.name === name) ?? LANGUAGES[0];
  return (
    <Card
      id="code"
      title="The same request in code"
      note={
        <>
          Put the secret of <SectionLink name="api-and-mcp">an API key</SectionLink> into DARKROOM_API_KEY.
        </>
      }
    >
      <fieldset class="choices" aria-label="Language">
        {LANGUAGES.map((one) => (
          <button
            key={one.name}
            type="button"
            class={one.name === name ? 'secondary small' : 'outline secondary small'}
            aria-pressed={one.name === name}
            onClick={() => setName(one.name)}
          >
            {one.title}
          </button>
        ))}
      </fieldset>
      {install === undefined ? null : <Copyable text={install} what="the command that installs the library" />}
      <Copyable text={text(shown)} what={`the request for ${title}`} />
    </Card>
  );
}
