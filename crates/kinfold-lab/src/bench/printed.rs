//! The numbers that the papers print, and which of them are misprints.

/// Okabe & Yamada 2018, Table 2: data, method, NMI at 1, 5, 10 % (– = not given).
const BCKM: &str = "
iris bckm .81 .99 .99
iris kbst .86 .89 .91
iris bstc .75 .75 .70
iris itml .91 .92 .92
iris pcp .71 .98 .99
iris ckm .78 .75 .75
iris rckm .81 .88 .88
ecoli bckm .66 .81 .81
ecoli kbst .63 .65 .67
ecoli bstc .49 .49 .48
ecoli itml .57 .59 .59
ecoli pcp .54 .65 .77
ecoli ckm .60 .62 .63
ecoli rckm .62 .61 .61
wdbc bckm .90 .96 .99
wdbc kbst .80 .80 .85
wdbc bstc .43 .43 .45
wdbc itml .49 .61 .63
wdbc pcp .90 1.00 1.00
wdbc ckm .42 .62 .73
wdbc rckm .89 .96 .98
sonar bckm .37 .97 .99
sonar bstc .03 .09 .11
sonar itml .20 .36 .38
sonar pcp .03 .99 1.00
sonar ckm .05 .18 .51
sonar rckm .04 .27 .47
glass bckm .36 .73 .82
glass bstc .28 .30 .31
glass itml .35 .34 .30
glass pcp .30 .56 .69
glass ckm .35 .46 .54
glass rckm .35 .36 .36
libras bckm .54 .71 .84
libras bstc .51 .56 .57
libras itml .61 .63 .60
libras pcp .32 .17 .21
libras ckm .56 .57 .58
libras rckm .57 .57 .57
tr11 bckm .70 .86 .87
tr11 pcp .66 .58 .75
tr11 rckm .64 .64 .64
tr12 bckm .68 .90 .95
tr12 pcp .72 .44 .68
tr12 rckm .64 .64 .64
tr23 bckm .38 .75 .83
tr23 pcp .42 .57 .69
tr23 rckm .37 .39 .39
flame bckm .98 1.00 1.00
flame pcp .99 1.00 1.00
flame spcl .92 .97 .99
flame ckm .78 .91 .80
flame rckm .98 1.00 1.00
pathbased bckm .85 .87 .91
pathbased pcp .95 .97 .97
pathbased spcl .86 .93 .97
pathbased ckm .46 .74 .76
pathbased rckm .72 .91 .93
spiral bckm .96 .93 .95
spiral pcp .88 .97 .99
spiral spcl .64 .98 .99
spiral ckm .17 .58 .58
spiral rckm .05 .07 .09
";

/// What Table 2 prints for CKM on tr11, tr12 and tr23 is, number by number, its lines for sonar, ecoli and libras: left out.
pub const BCKM_MISPRINT: &str = "The printed CKM lines for tr11, tr12 and tr23 are those of sonar, ecoli and libras, number by number, and are not counted.";

/// What stands for data sets whose rows are not known.
pub const LCC_OTHER_ROWS: &str = "letter: the paper does not say which 600 rows of which three classes it took; ours are the first 200 of I, J and L each. half-rings: a lookalike of as many rows, because the points of the paper are not public.";

/// Table 3: seconds.
const BCKM_SECONDS: &str = "
iris bckm .02 .27 .49
iris pcp .59 1.38 2.45
iris itml .23 2.01 2.21
iris ckm .01 .01 .02
ecoli bckm 1.72 14.71 13.96
ecoli pcp 3.68 28.62 131.93
ecoli itml 4.41 4.47 4.50
ecoli ckm .02 .09 .24
wdbc bckm 13.35 47.52 30.60
wdbc pcp 24.92 354.22 1870.17
wdbc itml 3.56 3.86 4.18
wdbc ckm .04 .06 .09
sonar bckm 1.30 4.41 6.12
sonar pcp 1.44 3.85 14.15
sonar itml 1.02 7.45 8.67
sonar ckm .01 .01 .01
glass bckm 1.29 4.51 7.47
glass pcp 1.19 7.02 23.71
glass itml 1.41 4.09 4.33
glass ckm .01 .02 .03
libras bckm 1.04 13.26 48.36
libras pcp 5.69 67.90 147.37
libras itml 25.34 30.56 33.96
libras ckm .04 .08 .11
tr11 bckm 8.21 21.86 23.00
tr11 pcp 9.47 103.37 268.57
tr11 ckm .12 .15 .20
tr12 bckm 3.68 13.51 20.85
tr12 pcp 3.41 23.79 80.62
tr12 ckm .08 .09 .11
tr23 bckm .81 4.75 6.31
tr23 pcp 1.70 4.51 22.94
tr23 ckm .03 .03 .04
flame bckm .03 .07 .17
flame pcp 1.34 3.94 16.00
flame spcl .12 .13 .11
flame ckm .02 .03 .02
pathbased bckm .26 .65 2.01
pathbased pcp 2.64 11.52 80.48
pathbased spcl .15 .15 .16
pathbased ckm .02 .05 .05
spiral bckm .91 1.00 2.15
spiral pcp 2.27 12.99 83.55
spiral spcl .16 .16 .17
spiral ckm .04 .02 .03
";

/// Table 4: rounds before boosting ended.
const BCKM_ROUNDS: &str = "
iris bckm 3.57 13.85 13.82
ecoli bckm 54.66 65.86 34.06
wdbc bckm 99.07 83.17 26.50
sonar bckm 92.57 98.79 73.00
glass bckm 73.21 100.00 92.13
libras bckm 22.47 100.00 100.00
tr11 bckm 61.75 92.26 59.16
tr12 bckm 46.01 100.00 99.37
tr23 bckm 29.26 99.30 70.80
flame bckm 1.23 1.09 1.39
pathbased bckm 6.40 5.86 9.95
spiral bckm 20.26 8.15 9.80
";

/// Ganji, Bailey & Stuckey 2016, Table 3: NMI at n/4, n/2, n.
const LCC: &str = "
iris cvqe .75 .77 .76
iris csp .07 .09 .14
iris lcc .79 .84 .88
wine cvqe .82 .83 .86
wine csp .04 .06 .07
wine lcc .46 .50 .67
ionosphere cvqe .17 .19 .25
ionosphere csp .06 .12 .18
ionosphere lcc .12 .20 .62
wdbc cvqe .60 .64 .67
wdbc csp .13 .43 .33
wdbc lcc .62 .77 .90
kdd-control cvqe .77 .77 .79
kdd-control csp .03 .03 .10
kdd-control lcc .68 .72 .81
letter cvqe .62 .65 .73
letter csp .02 .03 .04
letter lcc .58 .72 .86
vehicle cvqe .10 .11 .11
vehicle csp .01 .02 .02
vehicle lcc .17 .18 .25
glass cvqe .36 .37 .37
glass csp .12 .14 .18
glass lcc .40 .43 .51
yeast cvqe .28 – –
yeast csp .09 .11 .14
yeast lcc .29 .34 .41
breast-tissue cvqe .54 .54 .59
breast-tissue csp .19 .20 .27
breast-tissue lcc .37 .41 .53
ecoli cvqe .60 .61 .62
ecoli csp .19 .18 .25
ecoli lcc .58 .62 .67
half-rings cvqe .57 .62 .73
half-rings csp .38 .47 .58
half-rings lcc .39 .50 .75
";

/// Table 3, columns `-ML-CL`: NMI of the rows that no constraint touches.
const LCC_FREE: &str = "
iris cvqe .74 .74 .82
iris csp .00 .00 .00
iris lcc .76 .77 .77
wine cvqe .83 .82 .78
wine csp .00 .00 .00
wine lcc .44 .44 .47
ionosphere cvqe .11 .10 .17
ionosphere csp .05 .07 .14
ionosphere lcc .10 .08 .20
wdbc cvqe .59 .64 .69
wdbc csp .13 .40 .26
wdbc lcc .47 .57 .56
kdd-control cvqe .77 .78 .80
kdd-control csp .00 .00 .00
kdd-control lcc .69 .72 .76
letter cvqe .61 .61 .66
letter csp .00 .00 .00
letter lcc .56 .63 .71
vehicle cvqe .10 .11 .12
vehicle csp .00 .00 .00
vehicle lcc .17 .15 .15
glass cvqe .35 .34 .28
glass csp .04 .03 .00
glass lcc .37 .36 .32
yeast cvqe .21 – –
yeast csp .03 .03 .03
yeast lcc .21 .19 .19
breast-tissue cvqe .57 .59 .60
breast-tissue csp .07 .06 .18
breast-tissue lcc .38 .41 .56
ecoli cvqe .59 .60 .59
ecoli csp .09 .11 .21
ecoli lcc .56 .60 .58
half-rings cvqe .39 .29 .15
half-rings csp .25 .23 .21
half-rings lcc .23 .18 .10
";

/// Table 2: broken must-links and cannot-links together.
const LCC_BROKEN: &str = "
iris cvqe 1.7 3.0 9.6
iris csp 13.3 28.4 57.6
iris lcc 0 0 0
wine cvqe 1.1 2.2 3.6
wine csp 18.9 36.1 77.7
wine lcc .1 .4 1.3
ionosphere cvqe 10.7 26.9 53.9
ionosphere csp 36.7 74.7 148.8
ionosphere lcc 1.3 5.9 7.1
wdbc cvqe 6.6 16.3 37.0
wdbc csp 62.8 64.8 170.2
wdbc lcc .9 .4 1.0
kdd-control cvqe 7.7 15.3 34.5
kdd-control csp 69.6 142.4 268.0
kdd-control lcc .3 .3 3.2
letter cvqe 8.3 18.2 28.1
letter csp 71.1 140.2 292.0
letter lcc 0 .6 1.4
vehicle cvqe 53.4 100.6 200.9
vehicle csp 100.4 199.8 410.0
vehicle lcc 1.7 4.1 30.1
glass cvqe 8.9 18.9 36.9
glass csp 22.8 43.8 83.9
glass lcc 0 .2 1.3
yeast cvqe 65.4 – –
yeast csp 151.2 284.8 546.0
yeast lcc .8 5.8 15.6
breast-tissue cvqe 4.6 7.6 14.4
breast-tissue csp 6.4 16.2 31.0
breast-tissue lcc .1 .3 1.4
ecoli cvqe 5.9 11.7 26.7
ecoli csp 17.4 39.0 66.1
ecoli lcc 1.0 2.2 5.0
half-rings cvqe 1.6 4.4 8.8
half-rings csp 7.4 16.6 32.8
half-rings lcc .4 2.0 .6
";

/// NMI and seconds.
type Quality = (f64, f64);

/// Table 4 there, iris: constraints; column generation (none: no solution in 1800 s); LCC.
pub const LCC_EXACT: [(usize, Option<Quality>, Quality); 7] = [
    (37, Some((0.75, 1800.0)), (0.80, 1.2)),
    (75, None, (0.84, 1.5)),
    (150, None, (0.88, 1.6)),
    (200, Some((0.92, 137.5)), (0.92, 2.2)),
    (250, Some((0.92, 3.2)), (0.92, 1.9)),
    (300, Some((1.0, 0.5)), (1.0, 2.0)),
    (400, Some((1.0, 0.2)), (1.0, 2.4)),
];

/// Jia, Guo, Liao & Lu: Rand index where the text gives it (the rest of Figure 2 is a picture): data, method, constraints, Rand.
pub const MLCL: [(&str, &str, usize, f64); 4] = [
    ("iris", "mlcl", 400, 0.970),
    ("iris", "greedy-mlcl", 400, 0.922),
    ("tic-tac-toe", "mlcl", 500, 0.55),
    ("tic-tac-toe", "greedy-mlcl", 500, 0.535),
];

/// Table 2 there: milliseconds × 10⁻³ at six numbers of constraints, greedy then theirs.
pub const MLCL_TIMES: [(&str, [f64; 6], [f64; 6]); 4] = [
    (
        "soybean-small",
        [866.59, 857.25, 871.05, 860.39, 865.94, 854.57],
        [877.62, 1076.90, 1064.58, 1104.16, 1114.40, 1210.11],
    ),
    (
        "wine",
        [1258.31, 1290.80, 1295.54, 1279.67, 1322.70, 1301.08],
        [1258.02, 1511.00, 1612.88, 1878.56, 1807.56, 1886.52],
    ),
    ("iris", [402.96, 445.21, 476.77, 498.59, 525.45, 502.06], [240.90, 743.84, 944.50, 1171.33, 1481.17, 1191.72]),
    (
        "tic-tac-toe",
        [3306.44, 2992.15, 2872.69, 2867.99, 2886.96, 2952.98],
        [3335.62, 3680.43, 4093.57, 4680.94, 5248.77, 5924.88],
    ),
];

/// A table of the papers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// NMI in the BCKM paper.
    Bckm,
    /// Seconds there.
    BckmSeconds,
    /// NMI in the LCC paper.
    Lcc,
    /// Broken constraints there.
    LccBroken,
    /// NMI of rows without constraints there.
    LccFree,
    /// Rounds of boosting in the BCKM paper.
    BckmRounds,
}

fn lines(which: Which) -> impl Iterator<Item = (&'static str, &'static str, [Option<f64>; 3])> {
    let text = match which {
        Which::Bckm => BCKM,
        Which::BckmSeconds => BCKM_SECONDS,
        Which::Lcc => LCC,
        Which::LccBroken => LCC_BROKEN,
        Which::LccFree => LCC_FREE,
        Which::BckmRounds => BCKM_ROUNDS,
    };
    text.lines().filter(|l| !l.is_empty()).map(|line| {
        let mut words = line.split(' ');
        let mut next = || words.next().unwrap_or_default();
        let (data, method) = (next(), next());
        (data, method, [0; 3].map(|_| next().parse().ok()))
    })
}

/// The data sets of a table, in its order.
pub fn data(which: Which) -> Vec<&'static str> {
    let mut names = Vec::new();
    for (data, ..) in lines(which) {
        if !names.contains(&data) {
            names.push(data);
        }
    }
    names
}

/// One printed number.
pub fn number(which: Which, data: &str, method: &str, level: usize) -> Option<f64> {
    lines(which).find(|l| l.0 == data && l.1 == method).and_then(|l| l.2[level])
}

/// The best printed number of a cell and whose it is.
pub fn best(which: Which, data: &str, level: usize) -> Option<(f64, &'static str)> {
    let all = lines(which).filter(|l| l.0 == data).filter_map(|l| l.2[level].map(|v| (v, l.1)));
    all.reduce(|a, b| if b.0 > a.0 { b } else { a })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_whole_and_the_tables_have_their_sizes() {
        assert_eq!(data(Which::Bckm).len(), 12);
        assert_eq!(data(Which::Lcc).len(), 12);
        for which in [Which::Bckm, Which::BckmSeconds, Which::BckmRounds, Which::Lcc, Which::LccBroken, Which::LccFree]
        {
            for (data, method, values) in lines(which) {
                let known = values.iter().flatten().count();
                assert!(known == 3 || (data, method) == ("yeast", "cvqe"), "{data} {method}");
            }
        }
    }

    #[test]
    fn the_best_of_a_cell_is_the_largest() {
        assert_eq!(best(Which::Bckm, "iris", 0), Some((0.91, "itml")));
        assert_eq!(best(Which::Bckm, "tr23", 0), Some((0.42, "pcp")));
        assert_eq!(best(Which::Lcc, "wine", 2), Some((0.86, "cvqe")));
        assert_eq!(number(Which::Lcc, "yeast", "cvqe", 1), None);
    }
}
