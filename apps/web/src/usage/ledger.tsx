import type { Entry, Statement } from '../api-types.js';
import { numberText } from '../format.js';
import { Badge, Empty, PlaceLink, Time } from '../parts/parts.js';
import { type Column, TableCard } from '../parts/table.js';
import { inApp } from '../server.js';
import { currency } from '../session.js';
import { usePages } from '../use-data.js';
import { KIND_TEXTS } from './usage-data.js';

const PAGE = 25;

/** Every movement of credits, newest first, with the generation that it belongs to. */
export function Ledger({ appId }: { appId: string }) {
  const path = inApp(appId, `/credits/entries?limit=${PAGE}`);
  const statement = usePages<'entries', Entry, Statement>(path, 'entries');
  return (
    <TableCard
      id="ledger"
      title="Ledger"
      note={`Every movement of ${currency.value}, newest first`}
      pages={statement}
      what="entries"
      scrolls="Entries of the ledger"
      idOf={({ sequence }) => String(sequence)}
      columns={COLUMNS}
      before={<BalanceLine title="Closing" credits={statement.value?.closing_credits} />}
      after={<BalanceLine title="Opening" credits={statement.last?.opening_credits} />}
      empty={<Empty icon="receipt-text" title="No entries yet" text="Grants, reservations and charges appear here." />}
    />
  );
}

const changes = new Intl.NumberFormat(undefined, { signDisplay: 'exceptZero' });

const COLUMNS: readonly Column<Entry>[] = [
  ['Time', ({ created_at: at }) => <Time at={at} />, 'muted'],
  ['Entry', ({ kind }) => <Badge look="plain">{KIND_TEXTS[kind]}</Badge>],
  [
    'For',
    ({ generation_id: id, model_key: model, reason, created_at: at }) =>
      id === undefined ? (
        reason
      ) : (
        <>
          <PlaceLink page="generations" id={id} label={`Generation of ${model ?? 'a model'}, ${at}`}>
            {model ?? 'a generation'}
          </PlaceLink>
          {reason === undefined ? null : <span class="muted">{` ${reason}`}</span>}
        </>
      ),
  ],
  ['By', (entry) => entry.credential_name ?? entry.credential_id],
  ['Credits', ({ credits }) => numberText(credits), 'number'],
  ['Change', ({ available_change: change }) => changes.format(change), 'number'],
  ['Available after', ({ available_after: after }) => balanceText(after), 'number'],
];

function BalanceLine({ title, credits }: { title: string; credits: number | undefined }) {
  return (
    <tr class="balance-line">
      <th scope="row" colSpan={COLUMNS.length - 1}>
        {`${title} balance on this page`}
      </th>
      <td class="number">{balanceText(credits)}</td>
    </tr>
  );
}

/** People see all entries and so each balance, which connected programs do not. */
function balanceText(credits: number | undefined): string {
  return credits === undefined ? '' : numberText(credits);
}
