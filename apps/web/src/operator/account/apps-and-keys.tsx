import { bytesText, dateText, numberText, SCOPE_TEXTS, textOf } from '../../format.js';
import { askedKey, KeyFields, revokeItem } from '../../keys/key-parts.js';
import { ShownOnce } from '../../parts/buttons.js';
import { TextField } from '../../parts/form.js';
import type { MenuItem } from '../../parts/overlays.js';
import { Badge, Empty, Limit } from '../../parts/parts.js';
import { ScopeTags } from '../../parts/scope-tags.js';
import { askItem, type Column, copyItem, Named, None, TableCard } from '../../parts/table.js';
import { Expiry, UsedOn } from '../../parts/times.js';
import type { App, Scope } from '../../server-types.js';
import { change } from '../../server.js';
import { overview } from '../../session.js';
import { afterChange, usePages, useShownOnce } from '../../use-data.js';
import type { Account } from '../account-list.js';
import { counted, createButton, type Numbers, type Said } from '../area-page.js';

type Uploads = 'uploads' | 'unfinished_uploads' | 'upload_bytes';

interface AppStorage extends Numbers<Uploads> {
  readonly app_id: string;
  readonly name: string;
}

interface Storage {
  readonly uncharged_content: Numbers<'bytes' | 'generations'>;
  readonly thumbnails: Numbers<'bytes' | 'generations'>;
  readonly apps: readonly AppStorage[];
  readonly limits: Numbers<Uploads | 'uncharged_content_bytes'>;
}

interface MadeApp {
  readonly app: Pick<AppStorage, 'name'>;
}

interface Key {
  readonly key_id: string;
  readonly app_id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** The beginning and the end of the secret; empty for a key of a release that kept neither. */
  readonly hint: string;
  readonly monthly_cap?: number;
  readonly created_at: string;
  readonly expires_at?: string;
  readonly revoked_at?: string;
  readonly last_used_on?: string;
}

/** The Apps of the account with what they store, and the keys of the account. */
export function AppsAndKeys({ path, account }: { path: string; account: Account }) {
  const storage = usePages<'apps', AppStorage, Storage>(`${path}/storage`, 'apps');
  const said = afterChange(storage.reload, 'apps');
  return (
    <>
      <TableCard
        id="apps"
        title="Apps and storage"
        actions={
          account.erased_at === undefined
            ? createButton('App', {
                text: 'A key of an App sees only what that App has made.',
                fields: nameField(),
                act: (form) => change<MadeApp>(`${path}/apps`, { name: textOf(form, 'name').trim() }),
                done: ({ app }) => said(`The App ${app.name} is created.`),
              })
            : undefined
        }
        pages={storage}
        what="Apps"
        idOf={(app) => app.app_id}
        columns={storage.value === undefined ? [] : appColumns(storage.value.limits)}
        menu={(app) => [app.name, renameItem(app, said), copyItem(app.app_id)]}
        empty={
          <Empty icon="app-window" title="No Apps yet" text="A key belongs to an App, and sees only what that made." />
        }
        below={<p class="note-row">{storage.value && storageText(storage.value)}</p>}
      />
      <KeysCard path={path} account={account} apps={storage.items.map(({ app_id: id, name }) => ({ id, name }))} />
    </>
  );
}

/** What the account stores beside its uploads. */
function storageText({ uncharged_content: uncharged, thumbnails, limits }: Storage): string {
  const content = `Uncharged content: ${bytesText(uncharged.bytes)} of ${bytesText(limits.uncharged_content_bytes)}, for ${counted(uncharged.generations, 'generation')}.`;
  return `${content} Thumbnails: ${bytesText(thumbnails.bytes)}, for ${counted(thumbnails.generations, 'generation')}.`;
}

function nameField(name = '') {
  return <TextField label="Name" name="name" required maxLength={100} defaultValue={name} />;
}

function renameItem({ app_id: id, name }: AppStorage, said: Said): MenuItem {
  return askItem('Rename…', 'pencil', {
    title: `Rename the App “${name}”`,
    text: 'People of the account see its name.',
    isHarmless: true,
    doIt: 'Rename App',
    fields: nameField(name),
    act: (form) => change(`/operator/apps/${id}/rename`, { name: textOf(form, 'name') }),
    done: () => said('The App is renamed.'),
  });
}

function appColumns(limits: Storage['limits']): readonly Column<AppStorage>[] {
  return [
    ['App', (app) => <Named>{app.name}</Named>],
    ['Uploads', (app) => <Limit used={app.uploads} max={limits.uploads} text={numberText} />],
    [
      'Unfinished uploads',
      (app) => <Limit used={app.unfinished_uploads} max={limits.unfinished_uploads} text={numberText} />,
    ],
    ['Stored files', (app) => <Limit used={app.upload_bytes} max={limits.upload_bytes} text={bytesText} />],
  ];
}

interface MadeKey {
  readonly key: Key;
  readonly secret: string;
}

/** The keys of the account. The secret of a new one is shown once, and is stored only in this component. */
function KeysCard({ path, account, apps }: { path: string; account: Account; apps: readonly App[] }) {
  const keys = usePages<'keys', Key>(`${path}/keys`, 'keys');
  const [made, setMade, forget] = useShownOnce<MadeKey>('keys');
  const said = afterChange(keys.reload, 'keys');
  const shown = overview.value;
  return (
    <TableCard
      id="keys"
      title="API keys"
      actions={
        account.erased_at !== undefined || apps.length === 0
          ? undefined
          : createButton('key', {
              text: 'The key spends the credits of this account. You see its secret once, and hand it over.',
              fields: shown && <KeyFields overview={shown} currency={account.currency} apps={apps} />,
              act: (form) => {
                const { app_id: appId = apps[0]?.id, ...asked } = askedKey(form);
                return change<MadeKey>(`/operator/apps/${appId}/keys`, asked);
              },
              done: (key) => {
                setMade(key);
                return said(`The key ${key.key.name} is created. Copy its secret now.`);
              },
            })
      }
      pages={keys}
      what="keys"
      idOf={(key) => key.key_id}
      isOver={(key) => key.revoked_at !== undefined}
      columns={keyColumns(apps)}
      menu={(key) => [
        key.name,
        copyItem(key.key_id),
        ...(key.revoked_at === undefined ? [revokeItem(key.name, `/operator/keys/${key.key_id}/revoke`, said)] : []),
      ]}
      empty={
        <Empty
          icon="key-round"
          title="No API keys yet"
          text={apps.length === 0 ? 'Create an App first.' : 'A program needs a key to call the API.'}
        />
      }
    >
      {made === undefined ? null : (
        <div class="body">
          <ShownOnce secret={made.secret} onDone={forget}>
            <strong>{`Copy the secret of “${made.key.name}” now: it is shown only once.`}</strong> Whoever has it can
            use the key.
          </ShownOnce>
        </div>
      )}
    </TableCard>
  );
}

function keyColumns(apps: readonly App[]): readonly Column<Key>[] {
  return [
    ['Name', (key) => <Named note={`Created ${dateText(key.created_at)}`}>{key.name}</Named>],
    ['Key', ({ hint }) => (hint === '' ? <None /> : <code class="nowrap">{hint}</code>)],
    ['App', ({ app_id: id }) => apps.find((app) => app.id === id)?.name ?? id],
    ['Scopes', ({ scopes }) => <ScopeTags scopes={scopes} textOf={(scope) => SCOPE_TEXTS[scope]} />],
    ['Last used', (key) => <UsedOn day={key.last_used_on ?? null} />],
    [
      'Monthly limit',
      ({ monthly_cap: cap }) => (cap === undefined ? <span class="faint">No limit</span> : numberText(cap)),
    ],
    [
      'Expires',
      ({ revoked_at: revoked, expires_at: expires = null }) =>
        revoked === undefined ? <Expiry at={expires} /> : <Badge look="plain">{`Revoked ${dateText(revoked)}`}</Badge>,
    ],
  ];
}
