import { useState } from 'preact/hooks';
import { announce } from '../announce.js';
import type { Webhook, WebhookSecret } from '../api-types.js';
import { inApp } from '../apps/usable-apps.js';
import { timeText } from '../format.js';
import { ActionButton } from '../parts/action-button.js';
import { Card, focusOn } from '../parts/card.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { Fact } from '../parts/fact.js';
import { goTo, hrefOf } from '../router.js';
import { change, remove } from '../server.js';
import { ShownSecret, useShownSecret } from './shown-secret.js';
import { WebhookForm } from './webhook-form.js';
import { disabledText, eventsText } from './webhook-text.js';

interface WebhookSettingsCardProps {
  readonly appId: string;
  readonly app: string | undefined;
  readonly webhook: Webhook;
  readonly changed: () => Promise<void>;
}

/** One webhook: what it is, and everything that can be changed about it. */
export function WebhookSettingsCard({ appId, app, webhook, changed }: WebhookSettingsCardProps) {
  const [secret, setSecret] = useShownSecret();
  const [isEditing, setEditing] = useState(false);
  const path = inApp(appId, `/webhooks/${webhook.webhook_id}`);
  const disabled = disabledText(webhook);
  const saved = async (fields: object, said: string): Promise<void> => {
    await change(path, fields, { method: 'PATCH' });
    setEditing(false);
    await changed();
    announce(said);
    focusOn('webhook');
  };
  return (
    <Card id="webhook" title={webhook.url} note={webhook.description}>
      {disabled === undefined ? null : <p class="fault">{disabled}</p>}
      {secret === undefined ? null : (
        <ShownSecret
          secret={secret}
          onDone={() => {
            setSecret(undefined);
            focusOn('webhook');
          }}
        />
      )}
      <dl class="facts spaced">
        <Fact name="Told when" text={eventsText(webhook.events)} />
        <Fact name="Made" text={timeText(webhook.created_at)} />
        <Fact name="Changed" text={timeText(webhook.updated_at)} />
        {webhook.failing_since === undefined ? null : (
          <Fact name="Failing since" text={timeText(webhook.failing_since)} />
        )}
        {webhook.previous_secret_expires_at === undefined ? null : (
          <Fact name="Signed with the secret before too, until" text={timeText(webhook.previous_secret_expires_at)} />
        )}
        <Fact name="Id" text={webhook.webhook_id} />
      </dl>
      {isEditing ? (
        <WebhookForm known={webhook} doIt="Save" submit={(fields) => saved(fields, 'The webhook was changed.')} />
      ) : (
        <div class="actions">
          <button type="button" class="outline secondary small" onClick={() => setEditing(true)}>
            Edit
          </button>
          <EnabledButton
            isEnabled={webhook.status === 'enabled'}
            change={(enabled) => saved({ enabled }, enabled ? 'The webhook is enabled.' : 'The webhook is disabled.')}
          />
          <RotateButton path={path} show={setSecret} changed={changed} />
          <ConfirmButton
            label="Delete"
            fullLabel="Delete this webhook"
            question="Delete this webhook?"
            consequence="Nothing is sent to it any more, and what it was told is not shown any more. This cannot be undone."
            doIt="Delete it"
            action={() => remove(path)}
            done={async () => goTo(hrefOf('webhooks', { query: { app } }), 'The webhook is deleted.')}
          />
        </div>
      )}
    </Card>
  );
}

interface EnabledButtonProps {
  readonly isEnabled: boolean;
  readonly change: (enabled: boolean) => Promise<void>;
}

function EnabledButton({ isEnabled, change: changeTo }: EnabledButtonProps) {
  return <ActionButton action={() => changeTo(!isEnabled)}>{isEnabled ? 'Disable' : 'Enable'}</ActionButton>;
}

interface RotateButtonProps {
  readonly path: string;
  readonly show: (secret: WebhookSecret | undefined) => void;
  readonly changed: () => Promise<void>;
}

function RotateButton({ path, show, changed }: RotateButtonProps) {
  return (
    <ConfirmButton
      label="New secret"
      isHarmless
      question="Make a new secret?"
      consequence="Messages are signed with the new and the present one for a day, and then with the new one alone."
      doIt="Make it"
      action={() => change<WebhookSecret>(`${path}/secret`)}
      done={async (made) => {
        show(made);
        announce('The secret was made. Copy it now.');
        focusOn('webhook');
        await changed();
      }}
    />
  );
}
