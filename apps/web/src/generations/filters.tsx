import { STATUSES, type Model, type Task } from '../api-types.js';
import { textOf } from '../form-text.js';
import { changeQuery, place } from '../router.js';
import { STATUS_TEXTS } from './task-text.js';

/** The filters, as the address has them. The days are those of where the reader is. */
const FILTERS = ['status', 'model', 'trace', 'from', 'to'] as const;
export type Filter = Readonly<Partial<Record<(typeof FILTERS)[number], string>>>;

export function currentFilter(): Filter {
  const { query } = place.value;
  return Object.fromEntries(FILTERS.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])));
}

export function isFiltered(filter: Filter): boolean {
  return Object.keys(filter).length > 0;
}

/** The query of the list. */
export function listQuery({ status, model, trace, from, to }: Filter): URLSearchParams {
  const query = new URLSearchParams();
  if (status !== undefined) query.set('status', status);
  if (model !== undefined) query.set('model_key', model);
  if (trace !== undefined) query.set('client_trace_id', trace);
  if (from !== undefined) query.set('created_after', startOfDay(from));
  if (to !== undefined) query.set('created_before', startOfDay(to, 1));
  return query;
}

/** Whether a task that an event tells of belongs into the list. */
export function isListed(task: Task, filter: Filter): boolean {
  const created = Date.parse(task.created_at);
  return (
    (filter.status ?? task.status) === task.status &&
    (filter.model ?? task.model_key) === task.model_key &&
    (filter.trace ?? task.client_trace_id) === task.client_trace_id &&
    (filter.from === undefined || created >= Date.parse(startOfDay(filter.from))) &&
    (filter.to === undefined || created < Date.parse(startOfDay(filter.to, 1)))
  );
}

/** The beginning of a day, `YYYY-MM-DD`, or of one that many days later; text that is none is sent as it is. */
function startOfDay(day: string, later = 0): string {
  const at = new Date(`${day}T00:00:00`);
  if (Number.isNaN(at.getTime())) return day;
  at.setDate(at.getDate() + later);
  return at.toISOString();
}

/** Narrows the list. Each change is in the address, so that it can be kept and sent to others of the account. */
export function Filters({ models }: { readonly models: readonly Model[] }) {
  const filter = currentFilter();
  const apply = (form: HTMLFormElement): void => {
    const fields = new FormData(form);
    changeQuery(Object.fromEntries(FILTERS.map((name) => [name, textOf(fields, name).trim()])));
  };
  const keys = models.map(({ model_key: key }) => key);
  const { model } = filter;
  // It may have made generations while it was in the catalog.
  const listed = model === undefined || keys.includes(model) ? keys : [...keys, model];
  return (
    <form
      class="filters"
      aria-label="Filters"
      onChange={({ currentTarget }) => apply(currentTarget)}
      onSubmit={(event) => {
        event.preventDefault();
        apply(event.currentTarget);
      }}
    >
      <label>
        Status
        <select name="status" value={filter.status ?? ''}>
          <option value="">Any</option>
          {STATUSES.map((status) => (
            <option key={status} value={status}>
              {STATUS_TEXTS[status]}
            </option>
          ))}
        </select>
      </label>
      <label>
        Model
        <select name="model" value={model ?? ''}>
          <option value="">Any</option>
          {listed.map((key) => (
            <option key={key} value={key}>
              {key}
            </option>
          ))}
        </select>
      </label>
      <label>
        Created from
        <input type="date" name="from" value={filter.from ?? ''} />
      </label>
      <label>
        Created to
        <input type="date" name="to" value={filter.to ?? ''} />
      </label>
      <label>
        Trace id
        <input
          name="trace"
          value={filter.trace ?? ''}
          maxLength={128}
          autocomplete="off"
          placeholder="client_trace_id"
        />
      </label>
      {isFiltered(filter) ? (
        <button
          type="button"
          class="outline secondary small"
          onClick={() => changeQuery(Object.fromEntries(FILTERS.map((name) => [name, undefined])))}
        >
          Clear filters
        </button>
      ) : null}
    </form>
  );
}
