import { Clock, ImageIcon, Package, SearchX, Video, WandSparkles } from 'lucide-preact';
import type { Json, JsonObject } from '../api-types.js';
import { spanText } from '../format.js';
import { Copyable } from '../parts/buttons.js';
import { Icon } from '../parts/icon.js';
import { Badge, Card, Empty, Facts, Loaded, Page, type PageProps, PlaceLink } from '../parts/parts.js';
import { changeQuery, place } from '../places.js';
import { currency } from '../session.js';
import { type ConsoleModel, priceText, useModels } from './use-models.js';

/** The models of the catalog as cards, or one of them. */
export function ModelsPage({ overview }: PageProps) {
  const { id, query } = place.value;
  const models = useModels();
  const one = models.value?.find((model) => model.model_key === id);
  if (id !== undefined)
    return (
      <Page title={one?.display_name ?? id} above={{ page: 'models', text: 'Models' }}>
        <Loaded data={models} what="models">
          {() => (one === undefined ? <UnknownModel id={id} /> : <SingleModel model={one} url={overview.base_url} />)}
        </Loaded>
      </Page>
    );
  const isShowingTests = query['test'] === 'show';
  return (
    <Page title="Models">
      <Loaded data={models} what="models" skeleton={<ModelSkeletons />}>
        {(all) => {
          const tests = all.filter((model) => model.is_test);
          const shown = isShowingTests || tests.length === all.length ? all : all.filter((model) => !model.is_test);
          return (
            <div class="stack">
              {all.length === 0 ? (
                <div class="panel">
                  <Empty
                    icon={Package}
                    title="No models yet"
                    text="The operator of this service adds models to its catalog."
                  />
                </div>
              ) : (
                <ModelCards models={shown} />
              )}
              {tests.length === 0 || tests.length === all.length ? null : (
                <p>
                  <button
                    type="button"
                    class="text-button small muted"
                    onClick={() => changeQuery({ test: isShowingTests ? undefined : 'show' })}
                  >
                    {isShowingTests ? 'Hide test models' : `Show test models (${tests.length})`}
                  </button>
                </p>
              )}
            </div>
          );
        }}
      </Loaded>
    </Page>
  );
}

/** Models side by side, each with a sample of what it makes. */
export function ModelCards({ models }: { readonly models: readonly ConsoleModel[] }) {
  return (
    <ul class="model-cards">
      {models.map((model) => (
        <li key={model.model_key} class="panel">
          <PlaceLink page="models" id={model.model_key} class="model-card">
            <Sample model={model} />
            <span class="model-text">
              <span class="row">
                <strong class="cut">{model.display_name}</strong>
                {model.is_test ? <Badge look="plain">Test</Badge> : null}
              </span>
              <span class="small muted">{priceText(model, currency.value)}</span>
              <span class="tiny faint row">
                <Icon of={model.modality === 'video' ? Video : ImageIcon} size={12} />
                {model.modality === 'video' ? 'Video' : 'Image'}
                {model.usual_ms !== null ? (
                  <>
                    <Icon of={Clock} size={12} />
                    {`usually ${spanText(model.usual_ms)}`}
                  </>
                ) : null}
              </span>
            </span>
          </PlaceLink>
        </li>
      ))}
    </ul>
  );
}

/** A recent output of the account, or the kind of the model. */
function Sample({ model: { sample, modality } }: { readonly model: ConsoleModel }) {
  return (
    <span class="model-sample">
      {sample === null ? (
        <Icon of={modality === 'video' ? Video : ImageIcon} size={24} />
      ) : (
        <img src={sample.thumbnails['640']} alt="" loading="lazy" decoding="async" />
      )}
    </span>
  );
}

function ModelSkeletons() {
  return (
    <div class="model-cards" aria-hidden="true">
      {[1, 2, 3].map((index) => (
        <div key={index} class="skeleton model-skeleton" />
      ))}
    </div>
  );
}

function UnknownModel({ id }: { readonly id: string }) {
  return (
    <div class="panel">
      <Empty icon={SearchX} title={`No model “${id}”`} text="It may have been removed from the catalog.">
        <PlaceLink page="models" class="button">
          All models
        </PlaceLink>
        <PlaceLink page="generations" query={{ model: id }} class="button">
          Its generations
        </PlaceLink>
      </Empty>
    </div>
  );
}

function SingleModel({ model, url }: { readonly model: ConsoleModel; readonly url: string }) {
  const { model_key: key, description, limits } = model;
  return (
    <div class="stack">
      <div class="page-head">
        <p>{description}</p>
        <span class="row wrap">
          <PlaceLink page="playground" query={{ model: key }} class="button primary">
            <Icon of={WandSparkles} size={14} />
            Open in playground
          </PlaceLink>
          <PlaceLink page="generations" query={{ model: key }} class="button">
            Its generations
          </PlaceLink>
        </span>
      </div>
      <div class="columns wide-first">
        <div class="stack">
          <Examples model={model} />
          <Parameters schema={model.input_schema} />
        </div>
        <div class="stack">
          <Card id="model-facts" title="Facts">
            <Facts
              facts={[
                ['Key', <code key="key">{key}</code>],
                ['Price', priceText(model, currency.value)],
                ['Usual time', model.usual_ms === null ? undefined : spanText(model.usual_ms)],
                ['Makes', model.modality === 'video' ? 'Videos' : 'Images'],
                ['Most outputs', limits?.max_outputs],
                ['Reference files', limits?.max_reference_uploads],
                ['Negative prompt', limits?.negative_prompt ? 'Yes' : undefined],
              ]}
            />
          </Card>
          <Card id="model-request" title="Read it over the API">
            <Copyable
              what="the request"
              isWrapped
              text={`curl ${url}/api/v1/developer/models/${encodeURIComponent(key)}`}
            />
          </Card>
        </div>
      </div>
    </div>
  );
}

function Examples({ model: { examples, model_key: key } }: { readonly model: ConsoleModel }) {
  if (examples.length === 0) return null;
  return (
    <Card id="model-examples" title="Examples" isFlush>
      <ul class="list">
        {examples.map(({ title, prompt }, index) => (
          <li key={index}>
            <span class="grow">
              {title === null ? null : <strong>{title} </strong>}
              <span class="muted">{prompt}</span>
            </span>
            <PlaceLink page="playground" query={{ model: key, example: String(index) }} class="button small">
              Try it
            </PlaceLink>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** The parameters of a JSON Schema, one line each. */
function Parameters({ schema }: { readonly schema: object }) {
  const { properties = {}, required = [] } = schema as {
    readonly properties?: Readonly<Record<string, JsonObject>>;
    readonly required?: readonly string[];
  };
  const names = Object.keys(properties);
  return (
    <Card id="model-parameters" title="Parameters" isFlush>
      {names.length === 0 ? (
        <p class="small muted body">This model has no parameters.</p>
      ) : (
        // What scrolls must be reachable without a pointer.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <section class="scroll-x" tabIndex={0} aria-label="Table of the parameters">
          <table class="table">
            <thead>
              <tr>
                {['Name', 'Values', 'Default', 'About'].map((title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {names.map((name) => (
                <ParameterLine
                  key={name}
                  name={name}
                  schema={properties[name] ?? {}}
                  isRequired={required.includes(name)}
                />
              ))}
            </tbody>
          </table>
        </section>
      )}
    </Card>
  );
}

interface ParameterLineProps {
  readonly name: string;
  readonly schema: JsonObject;
  readonly isRequired: boolean;
}

function ParameterLine({ name, schema, isRequired }: ParameterLineProps) {
  const { title, description, default: usual } = schema;
  return (
    <tr>
      <th scope="row">
        <code>{name}</code>
        {isRequired ? <span class="tag push">required</span> : null}
      </th>
      <td class="values">{valuesText(schema)}</td>
      <td>{usual === undefined ? <span class="faint">–</span> : <code>{plainText(usual)}</code>}</td>
      <td class="muted">{[title, description].filter((text) => typeof text === 'string').join('. ')}</td>
    </tr>
  );
}

function valuesText({ enum: among, type, minimum, maximum, maxLength }: JsonObject): string {
  if (Array.isArray(among)) return (among as readonly Json[]).map(plainText).join(', ');
  const kind = typeof type === 'string' ? type : 'any value';
  if (minimum !== undefined && maximum !== undefined) return `${kind}, ${plainText(minimum)} to ${plainText(maximum)}`;
  if (minimum !== undefined) return `${kind}, at least ${plainText(minimum)}`;
  if (maximum !== undefined) return `${kind}, at most ${plainText(maximum)}`;
  return maxLength === undefined ? kind : `${kind}, at most ${plainText(maxLength)} characters`;
}

function plainText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
