//! One page that needs nothing else: no network, no script, light or dark as the reader likes it.

use crate::chart::{STYLE, Svg};
use crate::{Table, escape};

/// A piece of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A heading; level 2 stands in the list of contents.
    Heading(u8, String),
    /// A paragraph.
    Text(String),
    /// The sentence to take home.
    Verdict(String, bool),
    /// Short facts, name and value.
    Facts(Vec<(String, String)>),
    /// A list.
    List(Vec<String>),
    /// A table.
    Table(Table),
    /// A chart; in Markdown its title stands for it unless a file name is given.
    Chart(Svg, Option<String>),
    /// Charts of the same thing, one seen at a time (on paper all), each with its name.
    Views(Vec<(String, Svg)>),
    /// A chart drawn before: the text of an SVG file of ours, what it shows, the file.
    Drawn(String, String, String),
}

/// A page.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// The first heading.
    pub title: String,
    /// Below it.
    pub lead: String,
    /// What follows.
    pub blocks: Vec<Block>,
}

const LOOK: &str = "\
:root{color-scheme:light dark;--ink:#1f2328;--soft:#5b6470;--line:#d9dde3;--paper:#fff;--tint:#f4f6f8;--best:#e2f3ea;--bad:#b3261e}\
@media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--soft:#a3acb8;--line:#39404a;--paper:#16191d;--tint:#1f242b;--best:#17402f;--bad:#ff8a7a}}\
body{margin:0 auto;padding:2rem 1.2rem 4rem;max-width:72rem;font:16px/1.55 system-ui,-apple-system,'Segoe UI',sans-serif;color:var(--ink);background:var(--paper)}\
h1{font-size:1.7rem;line-height:1.2;margin:0 0 .4rem}h2{font-size:1.25rem;margin:2.6rem 0 .6rem;padding-top:.6rem;border-top:1px solid var(--line)}h3{font-size:1.05rem;margin:1.6rem 0 .4rem}\
p{margin:.5rem 0;max-width:46rem}.lead{color:var(--soft)}nav{margin:1rem 0;font-size:.92rem}nav a{margin-right:1rem;color:inherit}\
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.88rem;margin:.8rem 0;font-variant-numeric:tabular-nums}caption{text-align:left;color:var(--soft);padding:.2rem 0}\
th,td{padding:.25rem .7rem .25rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}th{font-weight:600;position:sticky;top:0;background:var(--paper)}td.n,th.n{text-align:right;padding-left:.5rem;white-space:nowrap}\
td.best{font-weight:700;background:var(--best)}td.bad{color:var(--bad)}small,.aside{color:var(--soft);font-weight:400}\
.verdict{border-left:4px solid #009e73;padding:.4rem .8rem;background:var(--tint);max-width:46rem}.verdict.no{border-color:var(--bad)}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1.2rem;margin:.8rem 0;font-size:.94rem}dt{color:var(--soft)}dd{margin:0}\
.views{position:relative}.views>input{position:absolute;opacity:0}.views>label{display:inline-block;padding:.2rem .7rem;margin-right:.4rem;border:1px solid var(--line);border-radius:.4rem;cursor:pointer;color:var(--soft)}\
.views>input:checked+label{color:var(--ink);border-color:var(--ink);font-weight:600}.views>input:focus-visible+label{outline:2px solid #0072b2}.views>figure{display:none}\
.views>input:nth-of-type(1):checked~figure:nth-of-type(1),.views>input:nth-of-type(2):checked~figure:nth-of-type(2),.views>input:nth-of-type(3):checked~figure:nth-of-type(3){display:block}\
figure{margin:1rem 0}svg{max-width:100%;height:auto}@media print{.views>figure{display:block}.views>input,.views>label{display:none}body{max-width:none}h2{break-after:avoid}figure,tr{break-inside:avoid}}";

impl Page {
    /// Adds a heading of level 2 or more.
    pub fn heading(&mut self, level: u8, text: impl Into<String>) {
        self.blocks.push(Block::Heading(level, text.into()));
    }
    /// Adds a paragraph.
    pub fn text(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Text(text.into()));
    }
    /// Adds a table.
    pub fn table(&mut self, table: Table) {
        self.blocks.push(Block::Table(table));
    }
    /// Adds a chart.
    pub fn chart(&mut self, svg: Svg) {
        self.blocks.push(Block::Chart(svg, None));
    }

    /// The whole page as HTML.
    pub fn html(&self) -> String {
        let title = escape(&self.title);
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <title>{title}</title><style>{LOOK}{STYLE}</style></head><body>\n<h1>{title}</h1>\n<p class=\"lead\">{}</p>\n",
            escape(&self.lead)
        );
        let headings: Vec<(usize, &String)> = self
            .blocks
            .iter()
            .enumerate()
            .filter_map(|(i, b)| if let Block::Heading(2, text) = b { Some((i, text)) } else { None })
            .collect();
        if headings.len() > 2 {
            out += "<nav>";
            for (i, text) in &headings {
                // "bckm: a long title" is listed by its short name.
                let short = text.split_once(": ").map_or(text.as_str(), |t| t.0);
                out += &format!("<a href=\"#s{i}\">{}</a>", escape(short));
            }
            out += "</nav>\n";
        }
        for (i, block) in self.blocks.iter().enumerate() {
            match block {
                Block::Heading(level, text) => {
                    let level = (*level).clamp(2, 4);
                    out += &format!("<h{level} id=\"s{i}\">{}</h{level}>\n", escape(text));
                }
                Block::Text(text) => out += &format!("<p>{}</p>\n", escape(text)),
                Block::Verdict(text, good) => {
                    out += &format!("<p class=\"verdict{}\">{}</p>\n", if *good { "" } else { " no" }, escape(text));
                }
                Block::Facts(facts) => {
                    out += "<dl>";
                    for (name, value) in facts {
                        out += &format!("<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
                    }
                    out += "</dl>\n";
                }
                Block::List(items) => {
                    let items: Vec<String> = items.iter().map(|t| format!("<li>{}</li>", escape(t))).collect();
                    out += &format!("<ul>{}</ul>\n", items.join("\n"));
                }
                Block::Table(table) => out += &table.html(),
                Block::Views(views) => {
                    out += "<div class=\"views\">";
                    for (v, (name, _)) in views.iter().enumerate() {
                        let checked = if v == 0 { " checked" } else { "" };
                        out += &format!(
                            "<input type=\"radio\" name=\"s{i}\" id=\"s{i}-{v}\"{checked}><label for=\"s{i}-{v}\">{}</label>",
                            escape(name)
                        );
                    }
                    views.iter().for_each(|(_, svg)| out += &format!("<figure>{}</figure>", svg.inline()));
                    out += "</div>\n";
                }
                Block::Drawn(svg, ..) => out += &format!("<figure>{svg}</figure>\n"),
                Block::Chart(svg, _) => out += &format!("<figure>{}</figure>\n", svg.inline()),
            }
        }
        out + "</body></html>\n"
    }

    /// The whole page as Markdown; charts only where they have a file.
    pub fn markdown(&self) -> String {
        let mut out = format!("# {}\n\n{}\n\n", self.title, self.lead);
        for block in &self.blocks {
            match block {
                Block::Heading(level, text) => {
                    out += &format!("{} {text}\n\n", "#".repeat((*level).clamp(2, 4) as usize))
                }
                Block::Text(text) => out += &format!("{text}\n\n"),
                Block::Verdict(text, _) => out += &format!("**{text}**\n\n"),
                Block::Facts(facts) => {
                    facts.iter().for_each(|(name, value)| out += &format!("- {name}: {value}\n"));
                    out.push('\n');
                }
                Block::List(items) => {
                    items.iter().for_each(|text| out += &format!("- {text}\n"));
                    out.push('\n');
                }
                Block::Table(table) => out += &table.markdown(),
                Block::Chart(svg, Some(file)) => out += &format!("![{}]({file})\n\n", svg.label()),
                Block::Drawn(_, alt, file) => out += &format!("![{alt}]({file})\n\n"),
                Block::Chart(_, None) | Block::Views(_) => {}
            }
        }
        out.trim_end().to_owned() + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cell;

    #[test]
    fn a_page_needs_nothing_but_itself() {
        let mut page = Page { title: "a & b".into(), lead: "lead".into(), ..Page::default() };
        for name in ["one", "two: and more", "three"] {
            page.heading(2, name);
            page.text("<script>");
        }
        let mut table = Table::new("", 1, &["x", "y"]);
        table.rows.push(vec![Cell::words("r"), Cell::number(1.0, 1)]);
        page.table(table);
        page.chart(crate::chart::Bars::default().svg());
        page.blocks.push(Block::Verdict("no".into(), false));
        let view = || crate::chart::Map::default().svg();
        page.blocks.push(Block::Views(vec![("one".into(), view()), ("<two>".into(), view())]));
        page.blocks.push(Block::Drawn(view().standalone(), "a map".into(), "map.svg".into()));
        let html = page.html();
        for outside in ["src=", "http-equiv", "<script", "@import", "url("] {
            assert!(!html.contains(outside), "{outside}");
        }
        assert_eq!(html.matches("http").count(), html.matches("http://www.w3.org/2000/svg").count());
        assert!(html.contains("prefers-color-scheme:dark") && html.contains("<nav>"));
        assert_eq!((html.matches("type=\"radio\"").count(), html.matches(" checked>").count()), (2, 1));
        assert!(html.contains("&lt;two&gt;</label>"));
        assert!(html.contains(">two</a>") && html.contains(">two: and more</h2>"));
        assert!(page.markdown().contains("![a map](map.svg)"));
        assert!(page.markdown().starts_with("# a & b\n\nlead\n\n## one\n"));
    }
}
