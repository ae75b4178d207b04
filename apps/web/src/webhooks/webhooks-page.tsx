import { useEffect } from 'preact/hooks';
import { useApps } from '../use-apps.js';
import { numberText } from '../format.js';
import { Button } from '../parts/buttons.js';
import { SelectFilter } from '../parts/fields.js';
import { ActionFault, Badge, Card, Empty, Page, PlaceLink, Time } from '../parts/parts.js';
import { type Column, Named, TableCard } from '../parts/table.js';
import { announce } from '../parts/toasts.js';
import { changeQuery, place } from '../places.js';
import type { AccountWebhook, AllWebhooks, PerRequestWebhooks } from '../server-types.js';
import { type Data, focusOn, useAction, useData } from '../use-data.js';
import { actsOf, createAppSecret, createWebhook, sendTest, type ShowSecret, useSecretCard } from './webhook-acts.js';
import { PerRequestPage, WebhookPage } from './webhook-page.js';
import { EventTags, HealthBadge, PER_REQUEST, shortUrl, useAppNames } from './webhook-parts.js';

const POLL_MS = 10_000;

/** The webhooks of all Apps; or one of them, which the address names. */
export function WebhooksPage() {
  const { id, query } = place.value;
  if (id === undefined) return <WebhookList />;
  return id === PER_REQUEST ? <PerRequestPage key={query['app']} appId={query['app']} /> : <WebhookPage id={id} />;
}

/** `new` in the address opens the form, `app` shows those of one App. */
function WebhookList() {
  const all = useData<AllWebhooks>('/webhooks', { everyMs: POLL_MS });
  const [card, show] = useSecretCard('webhooks', all.reload);
  const { app, new: isNew } = place.value.query;
  const create = (): void => createWebhook(app, show);
  useEffect(() => {
    if (isNew === undefined) return;
    changeQuery({ new: undefined });
    create();
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [isNew]);
  const button = (
    <Button kind="primary" icon="plus" onClick={create}>
      Create webhook
    </Button>
  );
  return (
    <Page
      title="Webhooks"
      lead="A webhook is an address of yours that receives a signed message when a generation ends."
      actions={button}
    >
      {card}
      <Webhooks all={all} show={show} button={button} />
      <PerRequestCard all={all} show={show} />
    </Page>
  );
}

interface ListProps {
  all: Data<AllWebhooks>;
  show: ShowSecret;
}

function Webhooks({ all, show, button }: ListProps & { button: preact.ComponentChildren }) {
  const doing = useAction();
  const nameOf = useAppNames();
  const { app } = place.value.query;
  const { webhooks = [], per_request: perRequest = [] } = all.value ?? {};
  const lines: readonly Line[] = [...webhooks, ...perRequest];
  const deleted = async (): Promise<void> => {
    await all.reload();
    focusOn('webhooks');
  };
  const hidden = lines.length === 1 ? 'Another App has one.' : `Other Apps have ${numberText(lines.length)}.`;
  return (
    <TableCard
      id="webhooks"
      title="Webhooks"
      actions={<AppFilter lines={lines} />}
      data={all}
      what="webhooks"
      items={lines.filter((line) => app === undefined || line.app.id === app)}
      idOf={(line) => (isWebhook(line) ? line.webhook_id : line.app.id)}
      columns={columns(nameOf)}
      menu={(line) => {
        if (!isWebhook(line)) {
          const rotate = (): void => createAppSecret(line.app.id, nameOf(line.app), false, show);
          const name = `per-request webhooks of ${nameOf(line.app)}`;
          return [name, { text: 'Rotate secret…', icon: 'refresh-cw', act: rotate }];
        }
        const { edit, items } = actsOf(line, { doing, changed: all.reload, show, deleted });
        return [
          shortUrl(line.url),
          { text: 'Send test event', icon: 'send', act: () => void doing.run(() => sendTest(line)) },
          { text: 'Edit…', icon: 'pencil', act: edit },
          ...items,
        ];
      }}
      empty={
        <Empty icon="webhook" {...(lines.length > 0 ? { title: 'No webhooks in this App', text: hidden } : NONE)}>
          {lines.length > 0 ? <Button onClick={() => changeQuery({ app: undefined })}>Show all Apps</Button> : button}
        </Empty>
      }
    >
      <ActionFault doing={doing} />
    </TableCard>
  );
}

const NONE = {
  title: 'No webhooks yet',
  text: 'Without a webhook a program asks for the status of each generation until it ends.',
};

/** A webhook, or the URLs that single generations of an App name. */
type Line = AccountWebhook | PerRequestWebhooks;

function isWebhook(line: Line): line is AccountWebhook {
  return 'webhook_id' in line;
}

function columns(nameOf: ReturnType<typeof useAppNames>): readonly Column<Line>[] {
  const healthOf = (line: Line) => (isWebhook(line) ? line.health : line);
  return [
    [
      'Address',
      (line) =>
        isWebhook(line) ? (
          <Named note={line.description || undefined}>
            <PlaceLink page="webhooks" id={line.webhook_id}>
              {shortUrl(line.url)}
            </PlaceLink>
          </Named>
        ) : (
          <Named note="Addresses of single generations">
            <PlaceLink page="webhooks" id={PER_REQUEST} query={{ app: line.app.id }}>
              Per-request webhooks
            </PlaceLink>
          </Named>
        ),
    ],
    ['App', ({ app }) => nameOf(app)],
    ['Events', (line) => (isWebhook(line) ? <EventTags events={line.events} /> : <span class="faint">The end</span>)],
    [
      'Health',
      (line) => {
        if (isWebhook(line))
          return (
            <div>
              <HealthBadge of={line} />
              {line.health.state === 'healthy' ? null : <small>{line.health.reason}</small>}
            </div>
          );
        const isUnused = line.last_success_at === null && line.last_failure_at === null;
        return isUnused ? <Badge>Unused</Badge> : <span class="faint">Each for itself</span>;
      },
      'health',
    ],
    [
      'Last success',
      (line) => {
        const { last_success_at: at } = healthOf(line);
        return at === null ? <span class="faint">Never</span> : <Time at={at} />;
      },
    ],
    ['Waiting', (line) => numberText(healthOf(line).waiting), 'number'],
  ];
}

/** An account with one App has nothing to choose. */
function AppFilter({ lines }: { lines: readonly Line[] }) {
  const usable = useApps().value?.apps ?? [];
  const nameOf = useAppNames();
  const { app } = place.value.query;
  const names = new Map([...usable, ...lines.map((line) => line.app)].map((one) => [one.id, nameOf(one)]));
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

/** How a request names its own address, and the secret that an App needs for that. */
function PerRequestCard({ all, show }: ListProps) {
  const apps = useApps().value?.apps ?? [];
  const nameOf = useAppNames();
  const { app } = place.value.query;
  const has = (id: string): boolean => all.value?.per_request.some((one) => one.app.id === id) !== false;
  const without = apps.find(({ id, kind }) => !has(id) && (app === undefined ? kind === 'keys' : id === app));
  if (without === undefined) return null;
  const create = (): void =>
    createAppSecret(without.id, nameOf(without), true, (secret) => {
      announce('The secret is created. Copy it now.');
      show(secret);
    });
  return (
    <Card
      id="per-request"
      title="Per-request webhooks"
      actions={
        <Button isSmall onClick={create}>
          Create secret…
        </Button>
      }
    >
      <p class="small muted">
        A request can name an address for its own generation in the header <code>Darkroom-Webhook-Url</code>. The App “
        {without.name}” needs a secret for that, which signs these messages.
      </p>
    </Card>
  );
}
