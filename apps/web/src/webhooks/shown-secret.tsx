import { useEffect, useState } from 'preact/hooks';
import type { WebhookSecret } from '../api-types.js';
import { timeText } from '../format.js';
import { ShownOnce } from '../parts/shown-once.js';

/** A secret that is kept in this part of the page and nowhere else, until the person has it or leaves. */
export function useShownSecret(): readonly [WebhookSecret | undefined, (secret: WebhookSecret | undefined) => void] {
  const [secret, setSecret] = useState<WebhookSecret>();
  useEffect(() => {
    // A browser may keep the page as it is, to show it again when the person comes back.
    const forget = (): void => setSecret(undefined);
    window.addEventListener('pagehide', forget);
    return () => window.removeEventListener('pagehide', forget);
  }, []);
  return [secret, setSecret];
}

interface ShownSecretProps {
  readonly secret: WebhookSecret;
  readonly onDone: () => void;
}

export function ShownSecret({ secret: { secret, previous_secret_expires_at: until }, onDone }: ShownSecretProps) {
  return (
    <ShownOnce secret={secret} onDone={onDone}>
      <strong>Copy the secret now. It is shown this once.</strong> Messages are signed with it
      {until === undefined ? '.' : `, and with the one before it until ${timeText(until)}.`}
    </ShownOnce>
  );
}
