import { useEffect, useState } from 'preact/hooks';
import { announce } from '../announce.js';
import { Card, focusOn } from '../parts/card.js';
import type { Data } from '../use-data.js';
import type { App, Overview } from '../server-types.js';
import { NewKeyForm, type MadeKey } from './new-key-form.js';
import { NewKeySecret } from './new-key-secret.js';

interface NewKeyCardProps {
  readonly overview: Overview;
  readonly apps: Data<{ readonly apps: readonly App[] }>;
  readonly keysChanged: () => Promise<void>;
}

/** Makes a key, and shows its secret until the person has it. It is kept in this part of the page and nowhere else. */
export function NewKeyCard({ overview, apps, keysChanged }: NewKeyCardProps) {
  const [made, setMade] = useState<MadeKey>();
  useEffect(() => {
    // A browser may keep the page as it is, to show it again when the person comes back.
    const forget = (): void => setMade(undefined);
    window.addEventListener('pagehide', forget);
    return () => window.removeEventListener('pagehide', forget);
  }, []);
  const show = (key: MadeKey): void => {
    setMade(key);
    announce('The key was made. Copy its secret now.');
    focusOn('new-key');
    void keysChanged();
  };
  const close = (): void => {
    setMade(undefined);
    focusOn('new-key');
  };
  return (
    <Card
      id="new-key"
      title={made ? `Your new key “${made.name}”` : 'New API key'}
      note={made ? undefined : 'Give it a name that tells you later where it is used. The rest is optional.'}
    >
      {made ? (
        <NewKeySecret secret={made.secret} onDone={close} />
      ) : (
        <NewKeyForm overview={overview} apps={apps} onMade={show} />
      )}
    </Card>
  );
}
