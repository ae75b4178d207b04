import { useState } from 'preact/hooks';
import { Ellipsis, Plus, RefreshCw, Webhook as WebhookIcon } from 'lucide-preact';
import { useApps } from '../apps/usable-apps.js';
import { numberText } from '../format.js';
import { Button } from '../parts/buttons.js';
import { SelectFilter } from '../parts/fields.js';
import { Icon } from '../parts/icon.js';
import { MenuButton } from '../parts/overlays.js';
import { Badge, Card, Empty, Fault, Loaded, Page, PlaceLink, Time } from '../parts/parts.js';
import { announce } from '../parts/toasts.js';
import { changeQuery, place } from '../places.js';
import type { AccountWebhook, AllWebhooks, App, PerRequestWebhooks } from '../server-types.js';
import { type Data, focusOn, useData, useShownOnce } from '../use-data.js';
import { RotateDefaultDialog, useWebhookActs } from './webhook-acts.js';
import { type CreatedSecret, CreateWebhookDialog, SecretCard } from './webhook-form.js';
import { PerRequestPage, WebhookPage } from './webhook-page.js';
import { EventTags, HEALTH_LOOKS, HEALTH_TEXTS, PER_REQUEST, shortUrl, useAppNames } from './webhook-parts.js';

const POLL_MS = 10_000;

/** The webhooks of all Apps; or one of them, which the address names. */
export function WebhooksPage() {
  const { id, query } = place.value;
  if (id === undefined) return <WebhookListPage />;
  return id === PER_REQUEST ? (
    <PerRequestPage key={query['app']} appId={query['app']} />
  ) : (
    <WebhookPage key={id} id={id} />
  );
}

/** `new` in the address opens the form, `app` shows those of one App. */
function WebhookListPage() {
  const all = useData<AllWebhooks>('/webhooks', { everyMs: POLL_MS });
  const [secret, setSecret, forget] = useShownOnce<CreatedSecret>('webhooks');
  const { app, new: isNew } = place.value.query;
  const show = (shown: CreatedSecret): void => {
    setSecret(shown);
    focusOn('secret');
    void all.reload();
  };
  const create = (): void => changeQuery({ new: '1' });
  return (
    <Page
      title="Webhooks"
      actions={
        <Button kind="primary" icon={Plus} onClick={create}>
          Create webhook
        </Button>
      }
    >
      <div class="stack">
        <div class="page-head">
          <p>A webhook is an address of yours that receives a signed message when a generation ends.</p>
        </div>
        {secret === undefined ? null : <SecretCard secret={secret} onDone={forget} />}
        <Webhooks all={all} app={app} show={show} create={create} />
        <PerRequestCard all={all} app={app} show={show} />
      </div>
      <CreateWebhookDialog
        isOpen={isNew !== undefined}
        close={() => changeQuery({ new: undefined })}
        appId={app}
        created={show}
      />
    </Page>
  );
}

interface ListProps {
  readonly all: Data<AllWebhooks>;
  /** The App whose webhooks are shown; all where absent. */
  readonly app: string | undefined;
  readonly show: (secret: CreatedSecret) => void;
}

function Webhooks({ all, app, show, create }: ListProps & { readonly create: () => void }) {
  const acts = useWebhookActs({ changed: all.reload, rotated: show, deleted: () => focusAfter(all.reload) });
  return (
    <Card id="webhooks" title="Webhooks" isFlush actions={<AppFilter all={all.value} app={app} />}>
      <Fault text={acts.doing.fault} />
      <Loaded data={all} what="webhooks" skeleton={<Skeleton />}>
        {({ webhooks, per_request: perRequest }) => {
          const isShown = (one: { readonly app: App }): boolean => app === undefined || one.app.id === app;
          const shown = webhooks.filter(isShown);
          const single = perRequest.filter(isShown);
          return shown.length + single.length === 0 ? (
            <Nothing hidden={webhooks.length + perRequest.length} create={create} />
          ) : (
            <WebhookTable webhooks={shown} perRequest={single} acts={acts} show={show} changed={all.reload} />
          );
        }}
      </Loaded>
      {acts.dialogs}
    </Card>
  );
}

function focusAfter(reload: () => Promise<void>): void {
  void reload().then(() => focusOn('webhooks'));
}

/** An account with one App has nothing to choose. */
function AppFilter({ all, app }: { readonly all: AllWebhooks | undefined; readonly app: string | undefined }) {
  const usable = useApps().value?.apps ?? [];
  const nameOf = useAppNames();
  const others = [...(all?.webhooks ?? []), ...(all?.per_request ?? [])].map((one) => one.app);
  const names = new Map([...usable, ...others].map((one) => [one.id, nameOf(one)]));
  if (names.size < 2 && app === undefined) return null;
  return (
    <SelectFilter
      label="App"
      none="All Apps"
      value={app}
      among={[...names.keys()]}
      text={(id) => names.get(id) ?? id}
      changed={(id) => changeQuery({ app: id })}
    />
  );
}

function Nothing({ hidden, create }: { readonly hidden: number; readonly create: () => void }) {
  if (hidden > 0)
    return (
      <Empty
        icon={WebhookIcon}
        title="No webhooks in this App"
        text={hidden === 1 ? 'Another App has one.' : `Other Apps have ${numberText(hidden)}.`}
      >
        <Button onClick={() => changeQuery({ app: undefined })}>Show all Apps</Button>
      </Empty>
    );
  return (
    <Empty
      icon={WebhookIcon}
      title="No webhooks yet"
      text="Without a webhook a program asks for the status of each generation until it ends."
    >
      <Button kind="primary" icon={Plus} onClick={create}>
        Create webhook
      </Button>
    </Empty>
  );
}

interface WebhookTableProps {
  readonly webhooks: readonly AccountWebhook[];
  readonly perRequest: readonly PerRequestWebhooks[];
  readonly acts: ReturnType<typeof useWebhookActs>;
  readonly show: (secret: CreatedSecret) => void;
  readonly changed: () => Promise<void>;
}

function WebhookTable({ webhooks, perRequest, acts, show, changed }: WebhookTableProps) {
  const [rotated, setRotated] = useState<App>();
  return (
    <div class="stacking">
      <table class="table" aria-labelledby="webhooks">
        <thead>
          <tr>
            {['Address', 'App', 'Events', 'Health', 'Last success'].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
            <th scope="col" class="number">
              Waiting
            </th>
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {webhooks.map((webhook) => (
            <WebhookRow key={webhook.webhook_id} webhook={webhook} acts={acts} />
          ))}
          {perRequest.map((one) => (
            <PerRequestRow key={one.app.id} of={one} rotate={() => setRotated(one.app)} />
          ))}
        </tbody>
      </table>
      <RotateDefaultDialog
        isOpen={rotated !== undefined}
        close={() => setRotated(undefined)}
        app={rotated ?? NO_APP}
        rotated={async (secret) => {
          show(secret);
          await changed();
        }}
      />
    </div>
  );
}

const NO_APP: App = { id: '', name: '' };

function WebhookRow({ webhook, acts }: { readonly webhook: AccountWebhook; readonly acts: WebhookTableProps['acts'] }) {
  const nameOf = useAppNames();
  const { webhook_id: id, url, description, app, events, health } = webhook;
  return (
    <tr>
      <th scope="row">
        <PlaceLink page="webhooks" id={id} class="named">
          {shortUrl(url)}
        </PlaceLink>
        {description === undefined || description === '' ? null : <small>{description}</small>}
      </th>
      <td data-name="App">{nameOf(app)}</td>
      <td data-name="Events">
        <EventTags events={events} />
      </td>
      <td data-name="Health" class="health">
        <div>
          <Badge look={HEALTH_LOOKS[health.state]}>{HEALTH_TEXTS[health.state]}</Badge>
          {health.state === 'healthy' ? null : <small>{health.reason}</small>}
        </div>
      </td>
      <td data-name="Last success">
        <LastTime at={health.last_success_at} />
      </td>
      <td data-name="Waiting" class="number">
        {numberText(health.waiting)}
      </td>
      <td class="row-menu">
        <MenuButton
          label={`Actions for ${shortUrl(url)}`}
          class="button quiet small square"
          button={<Icon of={Ellipsis} size={14} />}
          items={acts.itemsOf(webhook)}
        />
      </td>
    </tr>
  );
}

function PerRequestRow({ of, rotate }: { readonly of: PerRequestWebhooks; readonly rotate: () => void }) {
  const nameOf = useAppNames();
  const { app, last_success_at: succeeded, last_failure_at: failed, waiting } = of;
  return (
    <tr>
      <th scope="row">
        <PlaceLink page="webhooks" id={PER_REQUEST} query={{ app: app.id }} class="named">
          Per-request webhooks
        </PlaceLink>
        <small>Addresses of single generations</small>
      </th>
      <td data-name="App">{nameOf(app)}</td>
      <td data-name="Events">
        <span class="faint">The end</span>
      </td>
      <td data-name="Health">
        {succeeded === null && failed === null ? <Badge>Unused</Badge> : <span class="faint">Each for itself</span>}
      </td>
      <td data-name="Last success">
        <LastTime at={succeeded} />
      </td>
      <td data-name="Waiting" class="number">
        {numberText(waiting)}
      </td>
      <td class="row-menu">
        <MenuButton
          label={`Actions for per-request webhooks of ${nameOf(app)}`}
          class="button quiet small square"
          button={<Icon of={Ellipsis} size={14} />}
          items={[{ text: 'Rotate secret…', icon: RefreshCw, act: rotate }]}
        />
      </td>
    </tr>
  );
}

function LastTime({ at }: { readonly at: string | null }) {
  return at === null ? <span class="faint">Never</span> : <Time at={at} />;
}

/** How a request names its own address, and the secret that an App needs for that. */
function PerRequestCard({ all, app, show }: ListProps) {
  const [isAsking, setAsking] = useState(false);
  const apps = useApps().value?.apps ?? [];
  const has = new Set((all.value?.per_request ?? []).map((one) => one.app.id));
  const without = apps.find(({ id, kind }) => !has.has(id) && (app === undefined ? kind === 'keys' : id === app));
  if (all.value === undefined || without === undefined) return null;
  return (
    <Card
      id="per-request"
      title="Per-request webhooks"
      actions={
        <Button isSmall onClick={() => setAsking(true)}>
          Create secret…
        </Button>
      }
    >
      <p class="small muted">
        A request can name an address for its own generation in the header <code>Darkroom-Webhook-Url</code>. The App “
        {without.name}” needs a secret for that, which signs these messages.
      </p>
      <RotateDefaultDialog
        isNew
        isOpen={isAsking}
        close={() => setAsking(false)}
        app={without}
        rotated={(secret) => {
          announce('The secret is created. Copy it now.');
          show(secret);
        }}
      />
    </Card>
  );
}

/** As high as a few rows. */
function Skeleton() {
  return (
    <div class="body stack" aria-hidden="true">
      {[0, 1, 2].map((row) => (
        <div key={row} class="skeleton row-line" />
      ))}
    </div>
  );
}
