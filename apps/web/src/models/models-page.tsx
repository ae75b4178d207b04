import type { Json, JsonObject } from '../api-types.js';
import { spanText } from '../format.js';
import { Picture } from '../media/picture.js';
import { Copyable } from '../parts/buttons.js';
import { Icon } from '../parts/icon.js';
import { Badge, Card, Empty, Facts, Loaded, Page, type PageProps, PlaceLink } from '../parts/parts.js';
import { type Column, None, Table } from '../parts/table.js';
import { changeQuery, place } from '../places.js';
import { type ConsoleModel, priceText, useModels } from './use-models.js';

/** The models of the catalog as cards, or one of them. */
export function ModelsPage({ overview }: PageProps) {
  const { id, query } = place.value;
  const models = useModels();
  if (id !== undefined) {
    const one = models.value?.find((model) => model.model_key === id);
    return (
      <Page title={one?.display_name ?? id} above={{ page: 'models', text: 'Models' }}>
        <Loaded data={models} what="models">
          {() => (one === undefined ? <UnknownModel id={id} /> : <SingleModel model={one} url={overview.base_url} />)}
        </Loaded>
      </Page>
    );
  }
  const isShowingTests = query['test'] === 'show';
  const skeleton = (
    <div class="model-cards" aria-hidden="true">
      {[1, 2, 3].map((index) => (
        <div key={index} class="skeleton model-skeleton" />
      ))}
    </div>
  );
  return (
    <Page title="Models">
      <Loaded data={models} what="models" skeleton={skeleton}>
        {(all) => {
          const others = all.filter((model) => !model.is_test);
          const hasBoth = others.length > 0 && others.length < all.length;
          return (
            <>
              {all.length === 0 ? (
                <div class="panel">
                  <Empty
                    icon="package"
                    title="No models yet"
                    text="The operator of this service adds models to its catalog."
                  />
                </div>
              ) : (
                <ModelCards models={hasBoth && !isShowingTests ? others : all} />
              )}
              {hasBoth ? (
                <p>
                  <button
                    type="button"
                    class="text-button small muted"
                    onClick={() => changeQuery({ test: isShowingTests ? undefined : 'show' })}
                  >
                    {isShowingTests ? 'Hide test models' : `Show test models (${all.length - others.length})`}
                  </button>
                </p>
              ) : null}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

/** Models side by side, each with a recent output of the account, or the kind of the model. */
export function ModelCards({ models }: { models: readonly ConsoleModel[] }) {
  return (
    <ul class="model-cards">
      {models.map(({ model_key: key, display_name: name, is_test: isTest, sample, usual_ms: usual, ...model }) => {
        const icon = model.modality === 'video' ? 'video' : 'image';
        return (
          <li key={key} class="panel">
            <PlaceLink page="models" id={key} class="model-card">
              <span class="model-sample">
                {sample === null ? (
                  <Icon of={icon} size={24} />
                ) : (
                  <Picture output={sample.output} thumbnails={sample.thumbnails ?? undefined} alt="" shownWidth={360} />
                )}
              </span>
              <span class="model-text">
                <span class="row">
                  <strong class="cut">{name}</strong>
                  {isTest ? <Badge look="plain">Test</Badge> : null}
                </span>
                <span class="small muted">{priceText(model)}</span>
                <span class="tiny faint row">
                  <Icon of={icon} size={12} />
                  {model.modality === 'video' ? 'Video' : 'Image'}
                  {usual === null ? null : (
                    <>
                      <Icon of="clock" size={12} />
                      {`usually ${spanText(usual)}`}
                    </>
                  )}
                </span>
              </span>
            </PlaceLink>
          </li>
        );
      })}
    </ul>
  );
}

function UnknownModel({ id }: { id: string }) {
  return (
    <div class="panel">
      <Empty icon="search-x" title={`No model “${id}”`} text="It may have been removed from the catalog.">
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

function SingleModel({ model, url }: { model: ConsoleModel; url: string }) {
  const { model_key: key, description, limits, modality, usual_ms: usual, examples } = model;
  const rows = parametersOf(model.input_schema as JsonObject);
  return (
    <>
      <div class="page-head">
        <p>{description}</p>
        <span class="row wrap">
          <PlaceLink page="playground" query={{ model: key }} class="button primary">
            <Icon of="wand-sparkles" size={14} />
            Open in playground
          </PlaceLink>
          <PlaceLink page="generations" query={{ model: key }} class="button">
            Its generations
          </PlaceLink>
        </span>
      </div>
      <div class="columns wide-first">
        <div class="stack">
          {examples.length === 0 ? null : (
            <Card id="model-examples" title="Examples" isFlush>
              <ul class="list">
                {examples.map(({ title, prompt }, index) => (
                  <li key={index}>
                    <span class="grow">
                      {title === null ? null : <strong>{title} </strong>}
                      <span class="muted">{prompt}</span>
                    </span>
                    <PlaceLink page="playground" query={{ model: key, example: `${index}` }} class="button small">
                      Try it
                    </PlaceLink>
                  </li>
                ))}
              </ul>
            </Card>
          )}
          <Card id="model-parameters" title="Parameters" isFlush>
            <Table
              labelledBy="model-parameters"
              scrolls="Table of the parameters"
              items={rows}
              idOf={({ name }) => name}
              columns={COLUMNS}
              empty={<p class="small muted body">This model has no parameters.</p>}
            />
          </Card>
        </div>
        <div class="stack">
          <Card id="model-facts" title="Facts">
            <Facts
              facts={[
                ['Key', <code key="key">{key}</code>],
                ['Price', priceText(model)],
                ['Usual time', usual === null ? undefined : spanText(usual)],
                ['Makes', modality === 'video' ? 'Videos' : 'Images'],
                ['Most outputs', limits.max_outputs],
                ['Reference files', limits.max_reference_uploads],
                ['Negative prompt', limits.negative_prompt ? 'Yes' : undefined],
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
    </>
  );
}

interface Parameter {
  name: string;
  schema: JsonObject;
  isRequired: boolean;
}

/** The parameters of a JSON Schema. */
function parametersOf({ properties = {}, required = [] }: JsonObject): Parameter[] {
  return Object.entries(properties as Readonly<Record<string, JsonObject>>).map(([name, schema]) => ({
    name,
    schema,
    isRequired: (required as readonly string[]).includes(name),
  }));
}

const COLUMNS: readonly Column<Parameter>[] = [
  [
    'Name',
    ({ name, isRequired }) => (
      <>
        <code>{name}</code>
        {isRequired ? <span class="tag push">required</span> : null}
      </>
    ),
  ],
  ['Values', ({ schema }) => valuesText(schema), 'values'],
  ['Default', ({ schema: { default: usual } }) => (usual === undefined ? <None /> : <code>{plainText(usual)}</code>)],
  [
    'About',
    ({ schema: { title, description } }) => [title, description].filter((text) => typeof text === 'string').join('. '),
    'muted',
  ],
];

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
