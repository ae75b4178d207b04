import { useState } from 'preact/hooks';
import { Ban, CircleAlert, Ellipsis, Eraser, Pencil, Play, Scale, Trash2 } from 'lucide-preact';
import { dateText, numberText, textOf, timeText } from '../../format.js';
import { Button, CopyableId } from '../../parts/buttons.js';
import { Field } from '../../parts/form.js';
import { Icon } from '../../parts/icon.js';
import { MenuButton, type MenuItem } from '../../parts/overlays.js';
import { Figures, Loaded } from '../../parts/parts.js';
import { change } from '../../server.js';
import { afterChange, useData, usePages } from '../../use-data.js';
import { AccountState } from '../account-list.js';
import { type Act, ActDialog } from '../acts.js';
import { AreaPage } from '../places.js';
import { type Account, counted, type Entry, type Suspended } from '../server-types.js';
import { AppsAndKeys } from './apps-and-keys.js';
import { CreditsDialog, type CreditsKind } from './credits-dialog.js';
import { ErasureState, eraseAccountAct, eraseTraceAct } from './erasures.js';
import { LedgerCard } from './ledger-card.js';
import { PeopleCard } from './people-card.js';

interface AccountPageProps {
  readonly id: string;
  /** The operator's own person. */
  readonly self: string;
}

const TITLE = 'page-title';

/** One account: its balance, ledger, Apps, keys and people. */
export function AccountPage({ id, self }: AccountPageProps) {
  const path = `/operator/accounts/${encodeURIComponent(id)}`;
  const data = useData<{ readonly account: Account }>(path);
  const entries = usePages<'entries', Entry>(`${path}/entries`, 'entries');
  const [asked, setAsked] = useState<Act>();
  const [kind, setKind] = useState<CreditsKind>();
  const changed = async (): Promise<void> => {
    await Promise.all([data.reload(), entries.reload()]);
  };
  const shown = data.value?.account;
  return (
    <AreaPage title={shown?.name ?? 'Account'} above={{ page: 'operator-accounts', text: 'Accounts' }}>
      <Loaded data={data} what="the account">
        {({ account }) => (
          <>
            <Head account={account} path={path} ask={setAsked} move={setKind} />
            <State account={account} />
            <Figures figures={figuresOf(account)} />
            <AppsAndKeys path={path} account={account} />
            <PeopleCard path={path} self={self} />
            <LedgerCard entries={entries} currency={account.currency} />
            <CreditsDialog
              account={account}
              path={path}
              kind={kind}
              close={() => setKind(undefined)}
              changed={changed}
              done={afterChange(changed, TITLE)}
            />
          </>
        )}
      </Loaded>
      <ActDialog act={asked} close={() => setAsked(undefined)} done={afterChange(changed, TITLE)} />
    </AreaPage>
  );
}

function figuresOf(account: Account) {
  return [
    { name: 'Available', value: numberText(account.available_credits), note: `${account.currency} to spend now` },
    {
      name: 'Reserved',
      value: numberText(account.reserved_credits),
      note: account.open_holds === 0 ? 'Nothing is open' : `For ${counted(account.open_holds, 'open generation')}`,
    },
    { name: 'Charged', value: numberText(account.spent_credits), note: 'For what was delivered' },
    { name: 'Granted', value: numberText(account.issued_credits), note: 'In all, with adjustments' },
  ];
}

interface HeadProps {
  readonly account: Account;
  readonly path: string;
  readonly ask: (act: Act) => void;
  readonly move: (kind: CreditsKind) => void;
}

/** What the account is, and what an operator can do with it. */
function Head({ account, path, ask, move }: HeadProps) {
  const isErased = account.erased_at !== undefined;
  return (
    <div class="page-head">
      <div class="grow">
        <div class="row wrap">
          <AccountState account={account} />
          <span class="small muted">{`Created ${dateText(account.created_at)}`}</span>
          <CopyableId id={account.account_id} what="account id" />
        </div>
      </div>
      {isErased ? null : (
        <div class="row wrap">
          <Button kind="primary" onClick={() => move('grants')}>
            Grant credits…
          </Button>
          <Button icon={Scale} onClick={() => move('adjustments')}>
            Adjust credits…
          </Button>
          <MenuButton
            label="More actions"
            class="button square"
            button={<Icon of={Ellipsis} size={14} />}
            items={actsOf(account, path, ask)}
          />
        </div>
      )}
    </div>
  );
}

function actsOf(account: Account, path: string, ask: (act: Act) => void): readonly MenuItem[] {
  const isSuspended = account.suspended_at !== undefined;
  return [
    { text: 'Rename…', icon: Pencil, act: () => ask(renameAct(account, path)) },
    isSuspended
      ? { text: 'Resume…', icon: Play, act: () => ask(resumeAct(account, path)) }
      : { text: 'Suspend…', icon: Ban, act: () => ask(suspendAct(account, path)), isDangerous: true },
    { text: 'Erase a trace…', icon: Eraser, act: () => ask(eraseTraceAct(path)), isDangerous: true },
    { text: 'Erase account…', icon: Trash2, act: () => ask(eraseAccountAct(account, path)), isDangerous: true },
  ];
}

/** Why nothing can be spent. */
function State({ account }: { readonly account: Account }) {
  if (account.erased_at !== undefined) return <ErasureState id={account.account_id} />;
  if (account.suspended_at === undefined) return null;
  return (
    <p class="attention bad">
      <Icon of={CircleAlert} />
      <span>{`Suspended since ${timeText(account.suspended_at)}: its keys are refused, and nothing can be spent.`}</span>
    </p>
  );
}

function renameAct({ name }: Account, path: string): Act {
  return {
    question: `Rename “${name}”`,
    consequence: 'People of the account see its name.',
    isHarmless: true,
    doIt: 'Rename account',
    busyText: 'Renaming…',
    children: (
      <Field label="New name">
        {(control) => <input {...control} class="input" name="name" required maxLength={100} defaultValue={name} />}
      </Field>
    ),
    action: async (form) => {
      await change(`${path}/rename`, { name: textOf(form, 'name') });
      return 'The account is renamed.';
    },
  };
}

function suspendAct({ name, open_holds: open }: Account, path: string): Act {
  return {
    question: `Suspend “${name}”?`,
    consequence: 'Its keys are refused within seconds, and nothing is accepted for it until you resume it.',
    doIt: 'Suspend account',
    busyText: 'Suspending…',
    children: (
      <label class="check">
        <input type="checkbox" name="cancel" value="yes" />
        <span>{`Cancel its open generations too (${numberText(open)})`}</span>
      </label>
    ),
    action: async (form) => {
      const { work } = await change<Suspended>(`${path}/suspend`, { cancel_work: form.get('cancel') === 'yes' });
      return `The account is suspended.${workText(work)}`;
    },
  };
}

function workText(work: Suspended['work']): string {
  if (work === undefined) return '';
  const { cancelled, stopping, unfinished } = work;
  const open = unfinished === 0 ? '' : ` ${counted(unfinished, 'reservation')} without a generation will be released.`;
  return ` ${counted(cancelled, 'generation')} cancelled, ${numberText(stopping)} stopping.${open}`;
}

function resumeAct({ name }: Account, path: string): Act {
  return {
    question: `Resume “${name}”?`,
    consequence: 'Its keys work again within seconds, and it can spend.',
    isHarmless: true,
    doIt: 'Resume account',
    busyText: 'Resuming…',
    action: async () => {
      await change(`${path}/resume`);
      return 'The account is resumed.';
    },
  };
}
