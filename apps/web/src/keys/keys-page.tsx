import { useState } from 'preact/hooks';
import { Ban, Copy, Ellipsis, Images, KeyRound, Plus } from 'lucide-preact';
import { dateText, numberText, SCOPE_TEXTS } from '../format.js';
import { Button, ConfirmDialog, MoreButton, useCopy } from '../parts/buttons.js';
import { SearchField, SelectFilter } from '../parts/fields.js';
import { Icon } from '../parts/icon.js';
import { MenuButton } from '../parts/overlays.js';
import { Badge, Card, Empty, Limit, Loaded, Page, type PageProps } from '../parts/parts.js';
import { ScopeTags } from '../parts/scope-tags.js';
import { Expiry, UsedOn } from '../parts/times.js';
import { changeQuery, goTo, hrefOf, place } from '../places.js';
import type { Key } from '../server-types.js';
import { change } from '../server.js';
import { reloadOverview } from '../session.js';
import { afterChange, type Data, focusOn, useData, useShownOnce } from '../use-data.js';
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
      actions={
        isCreating ? null : (
          <Button id="create-key" kind="primary" icon={Plus} onClick={open}>
            Create key
          </Button>
        )
      }
    >
      <div class="stack">
        <div class="page-head">
          <p>
            A key lets a program create generations and spend the credits of this account. Everybody in the account sees
            all keys. A revoked key stops working within 5 seconds.
          </p>
        </div>
        {isCreating ? <NewKeyForm overview={overview} apps={apps} onMade={show} close={close} /> : null}
        {made === undefined ? null : <NewSecret overview={overview} made={made} used={used} close={forget} />}
        <Keys keys={keys} create={isCreating ? undefined : open} />
        {made === undefined ? <FirstRequest overview={overview} /> : null}
      </div>
    </Page>
  );
}

/** The list is searched in the page, since the server sends it as a whole. */
function Keys({ keys, create }: { readonly keys: Data<KeyList>; readonly create: (() => void) | undefined }) {
  const [revoked, setRevoked] = useState<Key>();
  const said = afterChange(keys.reload, 'keys');
  const all = keys.value?.keys ?? [];
  const total = keys.value?.total ?? 0;
  const active = all.filter(({ is_over: isOver }) => !isOver).length;
  return (
    <Card
      id="keys"
      title="Keys"
      isFlush
      note={all.length === 0 ? undefined : <span class="faint num">{`${numberText(active)} active`}</span>}
      actions={all.length > active ? <EndedFilter count={all.length - active} /> : undefined}
    >
      <Filters all={all} />
      <Loaded data={keys} what="keys" skeleton={<Skeleton />}>
        {({ keys: loaded }) => <KeyTable all={loaded} revoke={setRevoked} create={create} />}
      </Loaded>
      {total > all.length ? (
        <p class="note-row">{`${numberText(all.length)} of ${numberText(total)} keys are shown, active ones first.`}</p>
      ) : null}
      <ConfirmDialog
        isOpen={revoked !== undefined}
        close={() => setRevoked(undefined)}
        question={`Revoke the key “${revoked?.name}”?`}
        consequence="Programs that use it are refused within 5 seconds. This can’t be undone."
        doIt="Revoke key"
        busyText="Revoking…"
        action={() => change(`/keys/${revoked?.id}/revoke`)}
        done={() => said(`The key ${revoked?.name} is revoked.`)}
      />
    </Card>
  );
}

const MANY = 8;

function EndedFilter({ count }: { readonly count: number }) {
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
function Filters({ all }: { readonly all: readonly Key[] }) {
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

/** The rows that are drawn at once. */
const STEP = 100;

interface KeyTableProps {
  readonly all: readonly Key[];
  readonly revoke: (key: Key) => void;
  /** Absent while a key is being created. */
  readonly create: (() => void) | undefined;
}

function KeyTable({ all, revoke, create }: KeyTableProps) {
  const [count, setCount] = useState(STEP);
  const { q, app, ended } = place.value.query;
  const matching = all.filter((key) => matches(key, q) && (app === undefined || key.app.id === app));
  const shown = matching.filter(({ is_over: isOver }) => ended !== undefined || !isOver);
  if (all.length === 0)
    return (
      <Empty icon={KeyRound} title="No API keys yet" text="A program needs a key to call the API.">
        {create === undefined ? null : (
          <Button kind="primary" icon={Plus} onClick={create}>
            Create key
          </Button>
        )}
      </Empty>
    );
  if (shown.length === 0) return <NoneShown ended={matching.length} />;
  return (
    <div class="stacking">
      <table class="table" aria-labelledby="keys">
        <thead>
          <tr>
            {['Name', 'Key', 'App', 'Scopes', 'Last used', 'This month', 'Expires'].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.slice(0, count).map((key) => (
            <KeyRow key={key.id} shown={key} revoke={() => revoke(key)} />
          ))}
        </tbody>
      </table>
      <MoreButton
        what="keys"
        pages={{
          more: shown.length > count ? async () => setCount(count + STEP) : undefined,
          isReading: false,
        }}
      />
    </div>
  );
}

/** Nothing to show, although there are keys. */
function NoneShown({ ended }: { readonly ended: number }) {
  const { q, app } = place.value.query;
  const isFiltered = q !== undefined || app !== undefined;
  const text = ended === 0 ? undefined : `${ended === 1 ? 'One key has' : `${numberText(ended)} keys have`} ended.`;
  return (
    <Empty icon={KeyRound} title={isFiltered ? 'No active key matches' : 'No active keys'} text={text}>
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

function KeyRow({ shown: key, revoke }: { readonly shown: Key; readonly revoke: () => void }) {
  const { id, name, hint, is_over: isOver } = key;
  const [, copy] = useCopy(id, 'the id');
  return (
    <tr class={isOver ? 'over' : undefined}>
      <th scope="row">
        <span class="named">{name}</span>
        <small>{`Created ${dateText(key.created_at)}`}</small>
      </th>
      <td data-name="Key">{hint === null ? <Unknown /> : <code class="nowrap">{hint}</code>}</td>
      <td data-name="App">{key.app.name ?? key.app.id}</td>
      <td data-name="Scopes">
        <ScopeTags scopes={key.scopes} textOf={(scope) => SCOPE_TEXTS[scope]} />
      </td>
      <td data-name="Last used">
        <UsedOn day={key.last_used_on} />
      </td>
      <td data-name="This month">
        <Limit used={key.used_this_month} max={key.monthly_cap} />
      </td>
      <td data-name="Expires">{isOver ? <Ended of={key} /> : <Expiry at={key.expires_at} />}</td>
      <td class="row-menu">
        <MenuButton
          label={`Actions for ${name}`}
          class="button quiet small square"
          button={<Icon of={Ellipsis} size={14} />}
          items={[
            { text: 'Copy id', icon: Copy, act: () => void copy() },
            {
              text: 'Show its generations',
              icon: Images,
              act: () => goTo(hrefOf('generations', { query: { key: id } })),
            },
            ...(isOver ? [] : [{ text: 'Revoke…', icon: Ban, act: revoke, isDangerous: true }]),
          ]}
        />
      </td>
    </tr>
  );
}

/** Keys of earlier releases kept nothing of their secret. */
function Unknown() {
  return (
    <span class="faint" title="Created by a release that kept nothing of the secret">
      –<span class="visually-hidden">Unknown</span>
    </span>
  );
}

function Ended({ of: { revoked_at: revokedAt, expires_at: expiresAt } }: { readonly of: Key }) {
  const at = revokedAt ?? expiresAt;
  return <Badge>{`${revokedAt === null ? 'Expired' : 'Revoked'}${at === null ? '' : ` ${dateText(at)}`}`}</Badge>;
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
