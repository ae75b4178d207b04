import { useState } from 'preact/hooks';
import { dateText, numberText, SCOPE_TEXTS } from '../format.js';
import { Button } from '../parts/buttons.js';
import { SearchField, SelectFilter } from '../parts/fields.js';
import { Badge, Card, Empty, Limit, Loaded, Page, type PageProps, SkeletonRows } from '../parts/parts.js';
import { ScopeTags } from '../parts/scope-tags.js';
import { type Column, copyItem, Named, None, Table } from '../parts/table.js';
import { Expiry, UsedOn } from '../parts/times.js';
import { changeQuery, goTo, hrefOf, place } from '../places.js';
import type { Key } from '../server-types.js';
import { reloadOverview } from '../session.js';
import { afterChange, type Data, focusOn, useData, useShownOnce } from '../use-data.js';
import { revokeItem } from './key-parts.js';
import { FirstRequest, type MadeKey, type NamedApps, NewKeyForm, NewSecret } from './new-key.js';

interface KeyList {
  readonly keys: readonly Key[];
  /** There may be more than are shown. */
  readonly total: number;
}

/** The keys of the account, and a first request with one. `new` in the address opens the form. */
export function KeysPage({ overview }: PageProps) {
  const keys = useData<KeyList>('/keys');
  const apps = useData<NamedApps>('/apps');
  const [made, setMade, forget] = useShownOnce<MadeKey>('keys');
  const isCreating = made === undefined && place.value.query['new'] !== undefined;
  const close = (): void => {
    changeQuery({ new: undefined });
    focusOn('create-key');
  };
  const show = (key: MadeKey): void => {
    changeQuery({ new: undefined });
    setMade(key);
    focusOn('new-key');
    void keys.reload();
  };
  const open = (): void => {
    setMade(undefined);
    changeQuery({ new: '1' });
  };
  const used = async (): Promise<void> => void (await Promise.all([keys.reload(), reloadOverview()]));
  return (
    <Page
      title="API keys"
      lead="A key lets a program create generations and spend the credits of this account. Everybody in the account sees all keys. A revoked key stops working within 5 seconds."
      actions={
        isCreating ? null : (
          <Button id="create-key" kind="primary" icon="plus" onClick={open}>
            Create key
          </Button>
        )
      }
    >
      {isCreating ? <NewKeyForm overview={overview} apps={apps} onMade={show} close={close} /> : null}
      {made === undefined ? null : <NewSecret overview={overview} made={made} used={used} close={forget} />}
      <Keys keys={keys} create={isCreating ? undefined : open} />
      {made === undefined ? <FirstRequest overview={overview} /> : null}
    </Page>
  );
}

/** The rows that are drawn at once. */
const STEP = 100;

/** The list is searched in the page, since the server sends it as a whole. `create` is absent while a key is being created. */
function Keys({ keys, create }: { keys: Data<KeyList>; create: (() => void) | undefined }) {
  const [count, setCount] = useState(STEP);
  const said = afterChange(keys.reload, 'keys');
  const { q, app, ended } = place.value.query;
  const { keys: all = [], total = 0 } = keys.value ?? {};
  const active = all.filter(({ is_over: isOver }) => !isOver).length;
  const matching = all.filter((key) => matches(key, q) && (app === undefined || key.app.id === app));
  const shown = matching.filter(({ is_over: isOver }) => ended !== undefined || !isOver);
  return (
    <Card
      id="keys"
      title="Keys"
      isFlush
      note={all.length === 0 ? undefined : <span class="faint num">{`${numberText(active)} active`}</span>}
      actions={all.length > active ? <EndedFilter count={all.length - active} /> : undefined}
    >
      <Filters all={all} />
      <Loaded data={keys} what="keys" skeleton={<SkeletonRows />}>
        {() => (
          <Table
            labelledBy="keys"
            items={shown.slice(0, count)}
            idOf={({ id }) => id}
            isOver={({ is_over: isOver }) => isOver}
            columns={COLUMNS}
            menu={(key) => [
              key.name,
              copyItem(key.id),
              {
                text: 'Show its generations',
                icon: 'images',
                act: () => goTo(hrefOf('generations', { query: { key: key.id } })),
              },
              ...(key.is_over ? [] : [revokeItem(key.name, `/keys/${key.id}/revoke`, said)]),
            ]}
            more={{
              what: 'keys',
              pages: { more: shown.length > count ? async () => setCount(count + STEP) : undefined, isReading: false },
            }}
            empty={
              all.length > 0 ? (
                <NoneShown ended={matching.length} />
              ) : (
                <Empty icon="key-round" title="No API keys yet" text="A program needs a key to call the API.">
                  {create === undefined ? null : (
                    <Button kind="primary" icon="plus" onClick={create}>
                      Create key
                    </Button>
                  )}
                </Empty>
              )
            }
          />
        )}
      </Loaded>
      {total > all.length ? (
        <p class="note-row">{`${numberText(all.length)} of ${numberText(total)} keys are shown, active ones first.`}</p>
      ) : null}
    </Card>
  );
}

const COLUMNS: readonly Column<Key>[] = [
  ['Name', (key) => <Named note={`Created ${dateText(key.created_at)}`}>{key.name}</Named>],
  [
    'Key',
    ({ hint }) =>
      hint === null ? (
        <None why="Unknown: created by a release that kept nothing of the secret" />
      ) : (
        <code class="nowrap">{hint}</code>
      ),
  ],
  ['App', ({ app }) => app.name ?? app.id],
  ['Scopes', ({ scopes }) => <ScopeTags scopes={scopes} textOf={(scope) => SCOPE_TEXTS[scope]} />],
  ['Last used', (key) => <UsedOn day={key.last_used_on} />],
  ['This month', (key) => <Limit used={key.used_this_month} max={key.monthly_cap} />],
  ['Expires', (key) => (key.is_over ? <Ended of={key} /> : <Expiry at={key.expires_at} />)],
];

const MANY = 8;

function EndedFilter({ count }: { count: number }) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={place.value.query['ended'] !== undefined}
        onChange={({ currentTarget }) => changeQuery({ ended: currentTarget.checked ? '1' : undefined })}
      />
      {`Show ended keys (${numberText(count)})`}
    </label>
  );
}

/** A few keys need none. */
function Filters({ all }: { all: readonly Key[] }) {
  const { q = '', app } = place.value.query;
  const apps = new Map(all.map((key) => [key.app.id, key.app.name ?? key.app.id]));
  if (all.length <= MANY && q === '' && app === undefined) return null;
  return (
    <div class="filters">
      <SearchField
        label="Find a key"
        placeholder="Name, id or svc_live_…"
        value={q}
        changed={(text) => changeQuery({ q: hintOf(text) })}
      />
      {apps.size > 1 ? (
        <SelectFilter
          label="App"
          value={app}
          among={[...apps.keys()]}
          text={(id) => apps.get(id) ?? id}
          none="All"
          changed={(id) => changeQuery({ app: id })}
        />
      ) : null}
    </div>
  );
}

/** A secret that somebody looks up, such as a leaked one, as the list shows it: it must not be in the address. */
function hintOf(text: string): string {
  return /^svc_live_\w{20,}$/.test(text) ? `${text.slice(0, 12)}…${text.slice(-4)}` : text;
}

/** Nothing to show, although there are keys. */
function NoneShown({ ended }: { ended: number }) {
  const { q, app } = place.value.query;
  const isFiltered = q !== undefined || app !== undefined;
  const text = ended === 0 ? undefined : `${ended === 1 ? 'One key has' : `${numberText(ended)} keys have`} ended.`;
  return (
    <Empty icon="key-round" title={isFiltered ? 'No active key matches' : 'No active keys'} text={text}>
      {ended === 0 ? null : <Button onClick={() => changeQuery({ ended: '1' })}>Show ended keys</Button>}
      {isFiltered ? <Button onClick={() => changeQuery({ q: undefined, app: undefined })}>Clear filters</Button> : null}
    </Empty>
  );
}

/** By every word, whatever its case, in what names the key. */
function matches({ id, name, hint, app }: Key, text = ''): boolean {
  const names = [id, name, hint ?? '', app.name ?? ''].join(' ').toLowerCase();
  return text
    .toLowerCase()
    .split(' ')
    .every((word) => names.includes(word));
}

function Ended({ of: { revoked_at: revokedAt, expires_at: expiresAt } }: { of: Key }) {
  const at = revokedAt ?? expiresAt;
  return <Badge>{`${revokedAt === null ? 'Expired' : 'Revoked'}${at === null ? '' : ` ${dateText(at)}`}`}</Badge>;
}
