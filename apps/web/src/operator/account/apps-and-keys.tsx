import { useState } from 'preact/hooks';
import { AppWindow, Ban, Copy, KeyRound, Pencil, Plus } from 'lucide-preact';
import { dateText, numberText, SCOPE_TEXTS, textOf } from '../../format.js';
import { askedKey, KeyFields } from '../../keys/key-fields.js';
import { Button, MoreButton, ShownOnce, useCopy } from '../../parts/buttons.js';
import { Field } from '../../parts/form.js';
import { Badge, Card, Empty, Loaded, Meter } from '../../parts/parts.js';
import { ScopeTags } from '../../parts/scope-tags.js';
import { Expiry, UsedOn } from '../../parts/times.js';
import type { App } from '../../server-types.js';
import { change } from '../../server.js';
import { overview } from '../../session.js';
import { afterChange, type Pages, usePages, useShownOnce } from '../../use-data.js';
import { type Act, ActDialog } from '../acts.js';
import { type Account, type AppStorage, bytesText, counted, type Key, type Storage } from '../server-types.js';
import { RowMenu, Table } from '../../parts/old-table.js';

interface AppsAndKeysProps {
  readonly path: string;
  readonly account: Account;
}

/** The Apps of the account with what they store, and the keys of the account. */
export function AppsAndKeys({ path, account }: AppsAndKeysProps) {
  const storage = usePages<'apps', AppStorage, Storage>(`${path}/storage`, 'apps');
  const apps = storage.items.map(({ app_id: id, name }) => ({ id, name }));
  const isErased = account.erased_at !== undefined;
  return (
    <>
      <AppsCard path={path} storage={storage} isErased={isErased} />
      <KeysCard path={path} currency={account.currency} apps={apps} isErased={isErased} />
    </>
  );
}

interface AppsCardProps {
  readonly path: string;
  readonly storage: Pages<AppStorage, Storage>;
  readonly isErased: boolean;
}

function AppsCard({ path, storage, isErased }: AppsCardProps) {
  const [asked, setAsked] = useState<Act>();
  return (
    <Card
      id="apps"
      title="Apps and storage"
      isFlush
      actions={
        isErased ? undefined : (
          <Button isSmall icon={Plus} onClick={() => setAsked(createAppAct(path))}>
            Create App…
          </Button>
        )
      }
    >
      <Loaded data={storage} what="Apps">
        {(answer) => (
          <>
            {storage.items.length === 0 ? (
              <Empty
                icon={AppWindow}
                title="No Apps yet"
                text="A key belongs to an App, and sees only what that made."
              />
            ) : (
              <Table
                labelledBy="apps"
                columns={['App', 'Uploads', 'Unfinished uploads', 'Stored files']}
                hasActs
                items={storage.items}
              >
                {(app) => <AppRow key={app.app_id} app={app} limits={answer.limits} ask={setAsked} />}
              </Table>
            )}
            <MoreButton pages={storage} what="Apps" />
            <p class="note-row">{storageText(answer)}</p>
          </>
        )}
      </Loaded>
      <ActDialog act={asked} close={() => setAsked(undefined)} done={afterChange(storage.reload, 'apps')} />
    </Card>
  );
}

/** What the account stores beside its uploads. */
function storageText({ uncharged_content: uncharged, thumbnails, limits }: Storage): string {
  const content = `Uncharged content: ${bytesText(uncharged.bytes)} of ${bytesText(limits.uncharged_content_bytes)}, for ${counted(uncharged.generations, 'generation')}.`;
  return `${content} Thumbnails: ${bytesText(thumbnails.bytes)}, for ${counted(thumbnails.generations, 'generation')}.`;
}

interface AppRowProps {
  readonly app: AppStorage;
  readonly limits: Storage['limits'];
  readonly ask: (act: Act) => void;
}

function AppRow({ app, limits, ask }: AppRowProps) {
  const [, copy] = useCopy(app.app_id, 'the App id');
  return (
    <tr>
      <th scope="row">
        <span class="named">{app.name}</span>
      </th>
      <td data-name="Uploads">
        <Used value={app.uploads} max={limits.uploads} text={numberText} />
      </td>
      <td data-name="Unfinished uploads">
        <Used value={app.unfinished_uploads} max={limits.unfinished_uploads} text={numberText} />
      </td>
      <td data-name="Stored files">
        <Used value={app.upload_bytes} max={limits.upload_bytes} text={bytesText} />
      </td>
      <RowMenu
        of={app.name}
        items={[
          { text: 'Rename…', icon: Pencil, act: () => ask(renameAppAct(app)) },
          { text: 'Copy id', icon: Copy, act: () => void copy() },
        ]}
      />
    </tr>
  );
}

interface UsedProps {
  readonly value: number;
  readonly max: number;
  readonly text: (value: number) => string;
}

function Used({ value, max, text }: UsedProps) {
  return (
    <div class="limit">
      <span class="num">{text(value)}</span> <span class="faint num">{`of ${text(max)}`}</span>
      <Meter value={value} max={max} label={`${text(value)} of ${text(max)}`} />
    </div>
  );
}

function NameField({ name }: { readonly name?: string }) {
  return (
    <Field label="Name">
      {(control) => <input {...control} class="input" name="name" required maxLength={100} defaultValue={name ?? ''} />}
    </Field>
  );
}

function createAppAct(path: string): Act {
  return {
    question: 'Create App',
    consequence: 'A key of an App sees only what that App has made.',
    isHarmless: true,
    doIt: 'Create App',
    busyText: 'Creating…',
    children: <NameField />,
    action: async (form) => {
      const name = textOf(form, 'name').trim();
      await change(`${path}/apps`, { name });
      return `The App ${name} is created.`;
    },
  };
}

function renameAppAct({ app_id: id, name }: AppStorage): Act {
  return {
    question: `Rename the App “${name}”`,
    consequence: 'People of the account see its name.',
    isHarmless: true,
    doIt: 'Rename App',
    busyText: 'Renaming…',
    children: <NameField name={name} />,
    action: async (form) => {
      await change(`/operator/apps/${id}/rename`, { name: textOf(form, 'name') });
      return 'The App is renamed.';
    },
  };
}

interface MadeKey {
  readonly key: Key;
  readonly secret: string;
}

interface KeysCardProps {
  readonly path: string;
  readonly currency: string;
  readonly apps: readonly App[];
  readonly isErased: boolean;
}

/** The keys of the account. The secret of a new one is shown once, and is stored only in this component. */
function KeysCard({ path, currency, apps, isErased }: KeysCardProps) {
  const keys = usePages<'keys', Key>(`${path}/keys`, 'keys');
  const [made, setMade, forget] = useShownOnce<MadeKey>('keys');
  const [asked, setAsked] = useState<Act>();
  const names = new Map(apps.map(({ id, name }) => [id, name]));
  return (
    <Card
      id="keys"
      title="API keys"
      isFlush
      actions={
        isErased || apps.length === 0 ? undefined : (
          <Button
            isSmall
            icon={Plus}
            onClick={() => {
              setMade(undefined);
              setAsked(createKeyAct(apps, currency, setMade));
            }}
          >
            Create key…
          </Button>
        )
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
      <Loaded data={keys} what="keys">
        {() => (
          <>
            {keys.items.length === 0 ? (
              <Empty
                icon={KeyRound}
                title="No API keys yet"
                text={apps.length === 0 ? 'Create an App first.' : 'A program needs a key to call the API.'}
              />
            ) : (
              <Table
                labelledBy="keys"
                columns={['Name', 'Key', 'App', 'Scopes', 'Last used', 'Monthly limit', 'Expires']}
                hasActs
                items={keys.items}
              >
                {(key) => <KeyRow key={key.key_id} shown={key} appName={names.get(key.app_id)} ask={setAsked} />}
              </Table>
            )}
            <MoreButton pages={keys} what="keys" />
          </>
        )}
      </Loaded>
      <ActDialog act={asked} close={() => setAsked(undefined)} done={afterChange(keys.reload, 'keys')} />
    </Card>
  );
}

interface KeyRowProps {
  readonly shown: Key;
  readonly appName: string | null | undefined;
  readonly ask: (act: Act) => void;
}

function KeyRow({ shown: key, appName, ask }: KeyRowProps) {
  const { revoked_at: revoked, monthly_cap: cap } = key;
  const [, copy] = useCopy(key.key_id, 'the id');
  return (
    <tr class={revoked === undefined ? undefined : 'over'}>
      <th scope="row">
        <span class="named">{key.name}</span>
        <small>{`Created ${dateText(key.created_at)}`}</small>
      </th>
      <td data-name="Key">{key.hint === '' ? <span class="faint">–</span> : <code class="nowrap">{key.hint}</code>}</td>
      <td data-name="App">{appName ?? key.app_id}</td>
      <td data-name="Scopes">
        <ScopeTags scopes={key.scopes} textOf={(scope) => SCOPE_TEXTS[scope]} />
      </td>
      <td data-name="Last used">
        <UsedOn day={key.last_used_on ?? null} />
      </td>
      <td data-name="Monthly limit">{cap === undefined ? <span class="faint">No limit</span> : numberText(cap)}</td>
      <td data-name="Expires">
        {revoked === undefined ? (
          <Expiry at={key.expires_at ?? null} />
        ) : (
          <Badge look="plain">{`Revoked ${dateText(revoked)}`}</Badge>
        )}
      </td>
      <RowMenu
        of={key.name}
        items={[
          { text: 'Copy id', icon: Copy, act: () => void copy() },
          ...(revoked === undefined
            ? [{ text: 'Revoke…', icon: Ban, act: () => ask(revokeAct(key)), isDangerous: true }]
            : []),
        ]}
      />
    </tr>
  );
}

function revokeAct({ key_id: id, name }: Key): Act {
  return {
    question: `Revoke the key “${name}”?`,
    consequence: 'Programs that use it are refused within 5 seconds. This can’t be undone.',
    doIt: 'Revoke key',
    busyText: 'Revoking…',
    action: async () => {
      await change(`/operator/keys/${id}/revoke`);
      return `The key ${name} is revoked.`;
    },
  };
}

function createKeyAct(apps: readonly App[], currency: string, show: (made: MadeKey) => void): Act {
  const shown = overview.value;
  return {
    question: 'Create key',
    consequence: 'The key spends the credits of this account. You see its secret once, and hand it over.',
    isHarmless: true,
    doIt: 'Create key',
    busyText: 'Creating…',
    children: shown === undefined ? null : <KeyFields overview={shown} currency={currency} apps={apps} />,
    action: async (form) => {
      const { app_id: appId = apps[0]?.id, ...asked } = askedKey(form);
      const made = await change<MadeKey>(`/operator/apps/${appId}/keys`, asked);
      show(made);
      return `The key ${asked.name} is created. Copy its secret now.`;
    },
  };
}
