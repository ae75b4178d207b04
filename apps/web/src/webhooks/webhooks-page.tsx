import { announce } from '../parts/toasts.js';
import type { Webhook, WebhookSecret } from '../api-types.js';
import { AppPicker, appQuery, inApp, pickedApp, type UsableApps, useApps } from '../apps/usable-apps.js';
import { dateText, timeText } from '../format.js';
import { ConfirmButton } from '../parts/buttons.js';
import { Card, Loaded, Row, Rows, PlaceLink, Page } from '../parts/parts.js';
import { place, titleOf } from '../places.js';
import { change } from '../server.js';
import { type Data, useData, useShownOnce, focusOn } from '../use-data.js';
import { DeliveriesCard } from './deliveries-card.js';
import {
  disabledText,
  eventsText,
  ShownSecret,
  type WebhookFields,
  WebhookForm,
  WebhookSettingsCard,
} from './webhook-form.js';

/** The webhooks of an App; or one of them, which the address names. */
function WebhooksSection() {
  const apps = useApps();
  const { id } = place.value;
  return (
    <Loaded data={apps} what="Apps">
      {(usable) => {
        const picked = pickedApp(usable, 'keys');
        const app = appQuery(usable, picked, 'keys');
        return id === undefined ? (
          <OfApp key={picked} apps={usable} appId={picked} app={app} />
        ) : (
          <Single key={`${picked} ${id}`} appId={picked} app={app} id={id} />
        );
      }}
    </Loaded>
  );
}

interface OfAppProps {
  readonly apps: UsableApps;
  readonly appId: string;
  readonly app: string | undefined;
}

function OfApp({ apps, appId, app }: OfAppProps) {
  const webhooks = useData<{ readonly webhooks: readonly Webhook[] }>(inApp(appId, '/webhooks'));
  return (
    <>
      {apps.apps.length < 2 ? null : (
        <section class="panel" aria-label="What is shown">
          <AppPicker apps={apps} picked={appId} usual="keys" />
        </section>
      )}
      <NewWebhookCard appId={appId} changed={webhooks.reload} />
      <WebhookList webhooks={webhooks} app={app} />
      <SingleAddressesCard appId={appId} app={app} />
    </>
  );
}

interface SingleProps {
  readonly appId: string;
  readonly app: string | undefined;
  readonly id: string;
}

function Single({ appId, app, id }: SingleProps) {
  return (
    <>
      <p class="back">
        <PlaceLink page="webhooks" query={{ app }}>
          All webhooks
        </PlaceLink>
      </p>
      {id === DEFAULT ? (
        <>
          <Card id="webhook" title="Addresses of single generations">
            <p class="empty">Each was named with its generation.</p>
          </Card>
          <DeliveriesCard appId={appId} webhookId={id} />
        </>
      ) : (
        <KnownWebhook appId={appId} app={app} id={id} />
      )}
    </>
  );
}

function KnownWebhook({ appId, app, id }: SingleProps) {
  const webhook = useData<Webhook>(inApp(appId, `/webhooks/${encodeURIComponent(id)}`));
  return (
    <Loaded data={webhook} what="the webhook">
      {(known) => (
        <>
          <WebhookSettingsCard appId={appId} app={app} webhook={known} changed={webhook.reload} />
          <DeliveriesCard appId={appId} webhookId={known.webhook_id} />
        </>
      )}
    </Loaded>
  );
}

/** Makes a webhook, and shows its secret until the person has it. */
function NewWebhookCard({ appId, changed }: { readonly appId: string; readonly changed: () => Promise<void> }) {
  const [secret, setSecret, close] = useShownOnce<WebhookSecret>('new-webhook');
  const create = async ({ url, events, description }: WebhookFields): Promise<void> => {
    const asked = { url, events, ...(description === '' ? {} : { description }) };
    setSecret(await change<Webhook & WebhookSecret>(inApp(appId, '/webhooks'), asked));
    announce('The webhook was made. Copy its secret now.');
    focusOn('new-webhook');
    await changed();
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

/** The App's own secret, which signs what is sent to addresses of single generations. */
function SingleAddressesCard({ appId, app }: { readonly appId: string; readonly app: string | undefined }) {
  const [secret, setSecret, close] = useShownOnce<WebhookSecret>('single-addresses');
  return (
    <Card
      id="single-addresses"
      title="Addresses of single generations"
      note="A program can name an address with one generation, in the header Darkroom-Webhook-Url. The App's own secret signs what is sent there."
    >
      {secret === undefined ? (
        <div class="row wrap">
          <ConfirmButton
            label="Make a secret"
            fullLabel="Make a secret for addresses of single generations"
            isHarmless
            question="Make a new secret of the App?"
            consequence="If the App has one already, messages are signed with both for a day, and then with the new one alone."
            doIt="Make it"
            action={() => change<WebhookSecret>(inApp(appId, '/webhooks/default/secret'))}
            done={async (made) => {
              setSecret(made);
              announce('The secret was made. Copy it now.');
              focusOn('single-addresses');
            }}
          />
          <PlaceLink page="webhooks" id="default" query={{ app }}>
            What was sent there
          </PlaceLink>
        </div>
      ) : (
        <ShownSecret secret={secret} onDone={close} />
      )}
    </Card>
  );
}

interface WebhookListProps {
  readonly webhooks: Data<{ readonly webhooks: readonly Webhook[] }>;
  /** The name of the App in the address. */
  readonly app: string | undefined;
}

/** The webhooks of an App. */
export function WebhookList({ webhooks, app }: WebhookListProps) {
  return (
    <Card id="webhooks" title="Webhooks">
      <Loaded data={webhooks} what="webhooks">
        {({ webhooks: shown }) => (
          <Rows items={shown} empty="The App has none yet.">
            {(webhook) => <WebhookRow key={webhook.webhook_id} webhook={webhook} app={app} />}
          </Rows>
        )}
      </Loaded>
    </Card>
  );
}

function WebhookRow({ webhook, app }: { readonly webhook: Webhook; readonly app: string | undefined }) {
  const { webhook_id: id, url, status, failing_since: failing } = webhook;
  const isDisabled = status === 'disabled';
  return (
    <Row
      title={
        <PlaceLink page="webhooks" id={id} query={{ app }}>
          {url}
        </PlaceLink>
      }
      badge={isDisabled ? 'disabled' : failing && 'failing'}
      isWarning={!isDisabled}
      isOver={isDisabled}
      note={disabledText(webhook)}
      facts={[
        ['Description', webhook.description],
        ['Told when', eventsText(webhook.events)],
        ['Made', dateText(webhook.created_at)],
        ['Failing since', failing && timeText(failing)],
      ]}
    />
  );
}

/** Names the App's own secret, in place of a webhook. */
const DEFAULT = 'default';

export function WebhooksPage() {
  return (
    <Page title={titleOf(place.value)}>
      <div class="stack">
        <WebhooksSection />
      </div>
    </Page>
  );
}
