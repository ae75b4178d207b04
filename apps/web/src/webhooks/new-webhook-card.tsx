import { announce } from '../announce.js';
import type { Webhook, WebhookSecret } from '../api-types.js';
import { inApp } from '../apps/usable-apps.js';
import { Card, focusOn } from '../parts/card.js';
import { change } from '../server.js';
import { ShownSecret, useShownSecret } from './shown-secret.js';
import { WebhookForm, type WebhookFields } from './webhook-form.js';

interface NewWebhookCardProps {
  readonly appId: string;
  readonly changed: () => Promise<void>;
}

/** Makes a webhook, and shows its secret until the person has it. */
export function NewWebhookCard({ appId, changed }: NewWebhookCardProps) {
  const [secret, setSecret] = useShownSecret();
  const create = async ({ url, events, description }: WebhookFields): Promise<void> => {
    const asked = { url, events, ...(description === '' ? {} : { description }) };
    setSecret(await change<Webhook & WebhookSecret>(inApp(appId, '/webhooks'), asked));
    announce('The webhook was made. Copy its secret now.');
    focusOn('new-webhook');
    await changed();
  };
  const close = (): void => {
    setSecret(undefined);
    focusOn('new-webhook');
  };
  return (
    <Card
      id="new-webhook"
      title={secret === undefined ? 'New webhook' : 'Your new webhook'}
      note={
        secret === undefined
          ? 'An address of yours that is told what happens to the generations of the App.'
          : undefined
      }
    >
      {secret === undefined ? (
        <WebhookForm doIt="Make webhook" submit={create} />
      ) : (
        <ShownSecret secret={secret} onDone={close} />
      )}
    </Card>
  );
}
